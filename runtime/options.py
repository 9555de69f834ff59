"""CompileOptions: the keyword arguments of `compile`, and of all that compiles, for type checkers and editors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .profile import OptimizationProfile


class CompileOptions(TypedDict, total=False):
    """EngineConfig's options, which tells what each does: the types of the keyword arguments of `compile`.

    All but `threads`, which has a place of its own. For functions that hand options on:

        def serve(path: str, **options: Unpack[mini_infer.CompileOptions]) -> None:
            engine = mini_infer.compile(path, **options)
    """

    device: str
    device_id: int
    compile_threads: int | None
    profile: OptimizationProfile | None
    enable_dynamic_shapes: bool
    dims: Mapping[str, int]
    shapes: Mapping[str, Sequence[int]]
    specialize: Mapping[str, ArrayLike]
    caches: Mapping[str, str]
    enable_graph_optimization: bool
    integer_products: bool
    tuned: bool
    winograd: str
    enable_memory_planning: bool
    enable_profiling: bool
    memory_alignment: int
    max_workspace_size: int | None
    planner: str
    beam_width: int | None
    vector_bits: int | None
    disable_inplace: Sequence[str]
    check_memory: bool
    precision: str
    gpu: str | None
    cache_kernels: bool
    emulator: str | None
