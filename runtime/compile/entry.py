"""The public entry points `compile`, `intermediates`, `plan_memory` and `memory_frontier`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from typing_extensions import Unpack

from ...dialects.arguments import check_function
from ...dialects.errors import ConfigError
from ..config import CompileOptions, EngineConfig
from ..device import Array
from ..engine import Engine
from ..from_torch.torch_package import is_torch_model
from ..kept.cache_folders import Cache
from ..progress import Progress
from .intermediates import Intermediates, check_asked
from .source import configured_source
from .source_to_engine import compile_source

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource
    from ...passes.memory.report.memory_plan import MemoryPlan
    from .memory_frontier import MemoryFrontier


def compile(
    model: ModelSource | Callable[..., Any],
    threads: int | None = None,
    *,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    cache: Cache = None,
    progress: Callable[[Progress], None] | None = None,
    tune: float | None = None,
    **options: Unpack[CompileOptions],
) -> Engine:
    """Compiles an ONNX model (a path, its bytes, an open file or a ModelProto); `options` are EngineConfig's.

    Or a model of PyTorch: an nn.Module, which `args` and `kwargs` are an example of a call of, an ExportedProgram or an
    ONNXProgram. `dynamic_shapes` says as torch.export does which dimensions of the arguments may vary, and how far.
    The engine takes the module's arguments, and returns what it returns: tensors for tensors, without copies.

    The result is cached on disk, by the content of the model and its external data, the options, the CPU and the
    version. `cache` says where: True, in the user's cache; a folder; False, nowhere; None, as the environment variable
    MINI_INFER_CACHE says. If the cache can't be written, the model is compiled all the same, with a warning for a
    folder that was given. Models for the CPU, from ONNX, are cached, but for code with
    `check_memory`, `enable_hooks` or `check`.

    With `tune`, about so many seconds are spent measuring schedules of kernels on this machine; this compile and all
    later ones, with or without `tune`, use the result (see EngineConfig's `tuned`).

    `progress` is called before every step; the logger "mini_infer" reports the same with times. Raises
    InvalidModelError, UnsupportedError, ConfigError, PlanError, OutOfMemoryError or CompileError, all of them
    MiniInferError.
    """
    config = EngineConfig.of(threads=threads, **options)
    if progress is not None:
        check_function("progress", progress)
    if is_torch_model(type(model)):
        from .torch_source import exported_source

        exported = exported_source(model, args, kwargs, dynamic_shapes, config)
        engine = compile_source(exported.source, exported.config, cache=cache, progress=progress, tune=tune)
        return exported.engine(engine)
    if args or kwargs or dynamic_shapes is not None:
        raise ConfigError("args, kwargs and dynamic_shapes are for an nn.Module of PyTorch")
    given = cast("ModelSource", model)
    return compile_source(*configured_source(given, config), cache=cache, progress=progress, tune=tune)


def intermediates(
    model: ModelSource,
    inputs: Mapping[str, Any],
    names: Sequence[str] | None = None,
    threads: int | None = None,
    **options: Unpack[CompileOptions],
) -> dict[str, Array]:
    """The values of an ONNX model's tensors by name for inputs by name; `options` are those of `compile`.

    As Engine.intermediates, for a model that is at hand, such as one in memory. Each call compiles the model.
    """
    source, config = configured_source(model, EngineConfig.of(threads=threads, **options))
    check_asked(source)
    return Intermediates(source, config)(inputs, names)


def plan_memory(model: ModelSource, threads: int | None = None, **options: Unpack[CompileOptions]) -> MemoryPlan:
    """The memory plan of the same arguments to `compile`, without generating code.

    `plan.arena_bytes` is what each context will need. Raises as `compile` does.
    """
    from .module_to_plan import plan_source

    return plan_source(*configured_source(model, EngineConfig.of(threads=threads, **options)))


def memory_frontier(
    model: ModelSource, threads: int | None = None, **options: Unpack[CompileOptions]
) -> MemoryFrontier:
    """The plans between a model's fastest and its smallest; `memory` of `compile` takes the fastest that fits.

    Each has an arena, an estimated time and what was chosen for it; of no two is one smaller and as fast. Several
    dozens of plans are made, which takes about a second each. For one shape, on the CPU. Raises as `compile` does.
    """
    from .module_to_plan import plan_frontier

    return plan_frontier(*configured_source(model, EngineConfig.of(threads=threads, **options)))
