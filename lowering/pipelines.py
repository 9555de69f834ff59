"""The phases in order, as --pass-pipeline text: what happens between an ONNX file and machine code.

Each phase ends at a level (see levels.py) and is closed by the verifier. `mini-opt --to LEVEL` and the
runtime run the same phases, and any part of the text can be given to `mini-opt -p`.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.arg_spec import ArgSpec, parse_pipeline
from xdsl.utils.exceptions import ArgSpecParseError, DiagnosticException, PassFailedException, VerifyException

from ..dialects.errors import CompileError, ConfigError
from ..dialects.sizes.attributes import guarded
from ..passes.statistics import timed
from .levels import LEVELS, Level, check_level, level_of
from .registry import load_pass

GRAPH = (
    "infer-shapes,canonicalize-graph,recompose-quantized,fold-constants,cse,dce,"
    "recompose-softmax,recompose-layer-norm,recompose-gelu,recompose-silu,recompose-attention,"
    "fold-batch-norm,split-conv-transpose,split-conv-depth,group-pixels,channels-last,canonicalize-graph,merge-products,pair-gates,fold-constants,pad-conv,flip-signs,widen-halves,recompose-block-weight,split-concat,cse,dce,tile-batch"
)
KERNELS = "split-means,form-kernels,limit-threads,choose-schedule,pack-weights"
BUFFERS = "order-kernels,mark-inplace,bufferize,elide-copies"
ARENA = "plan-arena,verify-arena,insert-barriers"
LOOPS = "insert-checks,place-weights,share-threads,lower-kernels"
LLVM = "expand-math,lower-to-llvm"
LAUNCHES = "insert-checks,place-weights,lower-kernels-to-gpu"
BELOW: dict[str, dict[Level, str]] = {"cpu": {"loops": LOOPS, "llvm": LLVM}, "cuda": {"launches": LAUNCHES}}
"""The passes of each device below the arena. Above it only targets differ, and with them rules and schedules."""
PATHS: dict[str, tuple[Level, ...]] = {
    device: (*LEVELS[: LEVELS.index("arena") + 1], *BELOW[device]) for device in BELOW
}
"""The levels of each device, top down."""

# With optimisations switched off: types are checked, what only folding can express is folded, and what has code on
# wide floats only is widened; every op is a kernel of its own; every value has bytes of its own.
PLAIN_GRAPH = "infer-shapes,fold-constants,widen-halves{required=true},split-concat,cse,dce"
PLAIN_KERNELS = "form-kernels{fuse=false},limit-threads,choose-schedule,pack-weights"
PLAIN_BUFFERS = "bufferize"


@dataclass(frozen=True)
class Phase:
    """A part of the pipeline: its passes, and the level of the module after them."""

    level: Level
    passes: str


@dataclass(frozen=True)
class PassRun:
    """The report that an observer receives after each pass."""

    name: str
    seconds: float


Observer = Callable[[PassRun, ModuleOp], None]


def phases(
    *,
    optimize: bool = True,
    plan_memory: bool = True,
    profile: bool = False,
    alignment: int = 256,
    planner: str = "auto",
    beam_width: int | None = None,
    capacity: int | None = None,
    disable_inplace: Sequence[str] = (),
    poison: bool = False,
    integer_products: bool = True,
    winograd: str = "auto",
    device: str = "cpu",
) -> tuple[Phase, ...]:
    """All phases of the compilation for a device of BELOW.

    Without `optimize` every ONNX op is a kernel of its own; without `plan_memory` no bytes are reused. With `profile`
    every kernel is timed. `alignment` and `capacity` of the arena are in bytes; `planner` is a strategy of plan-arena,
    `beam_width` the number of partial plans that `beam` keeps; kernels with an op of `disable_inplace` never overwrite
    an operand. Without `integer_products`, and on a GPU, quantised products are computed in floats. `winograd` is
    "auto"; or "compact", which prefers a slightly slower schedule that needs far less memory for weights; or "off".
    With `poison` a buffer's bytes are overwritten when it dies, and every call is a stage of its own.
    """
    strategy = planner if plan_memory else "naive"
    arena = {"strategy": strategy, "alignment": alignment, "capacity": capacity, "width": beam_width}
    bytes_taken = {"alignment": alignment}
    disabled = {"disable": ",".join(disable_inplace) or None}
    forbidden = "winograd" if winograd == "off" and device == "cpu" else None
    options = {
        "form-kernels": {"forbid": forbidden},
        "choose-schedule": {
            "forbid": forbidden,
            "compact": "true" if winograd == "compact" else None,
        },
        "order-kernels": disabled | bytes_taken,
        "mark-inplace": disabled,
        "elide-copies": bytes_taken,
        "plan-arena": arena,
        "share-threads": {"apart": "true" if profile or poison else None, "watched": "true" if poison else None},
    }
    below = dict(BELOW[device])
    if poison and "loops" in below:
        below["loops"] = f"poison-dead,{below['loops']}"
    if profile and "loops" in below:
        below["loops"] += ",profile-kernels"
    graph = GRAPH if integer_products and device == "cpu" else GRAPH.replace("recompose-quantized,", "")
    return (
        Phase("graph", graph if optimize else PLAIN_GRAPH),
        Phase("kernels", _with_options(KERNELS if optimize else PLAIN_KERNELS, options)),
        Phase("buffers", _with_options(BUFFERS if plan_memory else PLAIN_BUFFERS, options)),
        Phase("arena", _with_options(ARENA, options)),
        *(Phase(level, _with_options(passes, options)) for level, passes in below.items()),
    )


def _with_options(passes: str, options: Mapping[str, Mapping[str, str | int | None]]) -> str:
    """The pipeline text with each pass's options added; an option that is None is left out."""
    texts: list[str] = []
    for name in passes.split(","):
        given = [f"{key}={value}" for key, value in options.get(name, {}).items() if value is not None]
        texts.append(f"{name}{{{' '.join(given)}}}" if given else name)
    return ",".join(texts)


def remaining_phases(module: ModuleOp, to: Level, every: Sequence[Phase] | None = None) -> tuple[Phase, ...]:
    """The phases that take `module` from its level to the level `to`.

    `every` are the phases to select from (by default all). A module at the graph level may be just imported, so the
    graph passes run, perhaps again; a module at the arena level may be just planned, so it is verified and gets
    barriers where they are missing. Raises ConfigError if the module is already below `to`, or its device has no such
    level.
    """
    device, level = _device_of(module), level_of(module)
    path = PATHS[device]
    if to not in path:
        raise ConfigError(f"there is no level {to} for this module's device, which has {', '.join(path)}")
    start, end = path.index(level), path.index(to)
    if start > end:
        raise ConfigError(f"the module is at the {level} level already, below {to}")
    first = start + 1 if start else 0
    selected = [phase for phase in every or phases(device=device) if first <= path.index(phase.level) <= end]
    if level == "arena":
        selected.insert(0, Phase("arena", ARENA.removeprefix("plan-arena,")))
    return tuple(selected)


def _device_of(module: ModuleOp) -> str:
    """The device of a module's target. Raises ConfigError for one without passes."""
    target = module.attributes.get("kernel.target")
    device = getattr(target, "device", "cpu")
    if device not in PATHS:
        raise ConfigError(f"the module is for {target}; there are passes for {', '.join(PATHS)} only")
    return device


def run_phases(
    ctx: Context,
    module: ModuleOp,
    selected: Sequence[Phase],
    observer: Observer | None = None,
    *,
    verify: bool = True,
) -> None:
    """Runs phases in order, each followed by the verifier."""
    for phase in selected:
        run_passes(ctx, module, parse_passes(phase.passes), observer)
        if verify:
            with _own_errors(f"the module at the {phase.level} level"), timed(ctx, "verification"):
                module.verify()


def run_passes(ctx: Context, module: ModuleOp, passes: Sequence[ModulePass], observer: Observer | None = None) -> None:
    """Runs passes in order, without verifying. Raises ConfigError before a pass that works on another level."""
    seen: Level | None = None
    with collection_paused():
        for each in passes:
            seen = check_level(each.name, module, seen)
            start = time.perf_counter()
            with _own_errors(each.name), timed(ctx, each.name), guarded(module):
                each.apply(ctx, module)
            if observer is not None:
                observer(PassRun(each.name, time.perf_counter() - start), module)


@contextmanager
def _own_errors(what: str) -> Generator[None]:
    """Converts xDSL's exceptions, which indicate a bug in a pass, to CompileError."""
    try:
        yield
    except (DiagnosticException, PassFailedException, VerifyException) as error:
        raise CompileError(f"{what}: {error}") from error


@contextmanager
def collection_paused() -> Generator[None]:
    """A context without Python's garbage collection: IR consists of reference cycles, all of them alive.

    Lowering MobileNet-v3's loops took 0.44 s instead of 1.56.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@lru_cache(maxsize=256)
def parse_passes(text: str) -> tuple[ModulePass, ...]:
    """The passes of a pipeline text such as `fold-constants,plan-arena{alignment=64}`.

    MLIR's `builtin.module(...)` around it is accepted. Raises ConfigError naming the error in the text.
    """
    wrapped = re.fullmatch(r"builtin\.module\((.*)\)", text.strip(), re.DOTALL)
    bare = re.sub(r"\s*,\s*", ",", (wrapped[1] if wrapped else text).strip())
    try:
        specs = list(parse_pipeline(bare))
    except ArgSpecParseError as error:
        _, _, place = str(error).partition(":\n")
        raise ConfigError(f"the pass pipeline can't be read\n{place.rstrip()}") from error
    return tuple(_make_pass(spec) for spec in specs)


def pipeline_text(passes: Iterable[ModulePass]) -> str:
    """The text from which `parse_passes` builds these passes."""
    return ",".join(str(each.spec()) for each in passes)


def _make_pass(spec: ArgSpec) -> ModulePass:
    made = load_pass(spec.name)
    known = sorted(field.name for field in fields(made) if field.init and field.name != "name")
    for option in spec.normalize_parameter_names().parameters:
        if option not in known:
            raise ConfigError(f"pass '{spec.name}' has no option '{option}' (it has: {', '.join(known) or 'none'})")
    try:
        return made.from_spec(spec)
    except ValueError as error:
        raise ConfigError(f"pass '{spec.name}': {error}") from error
