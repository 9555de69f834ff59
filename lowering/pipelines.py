"""The phases in order, as --pass-pipeline text: what happens between an ONNX file and machine code.

Each phase ends at a level (see levels.py) and is closed by the verifier; beside a pass stands why it is where it is.
`mini-opt --to LEVEL` and the runtime run the same phases, and any part of the text can be given to `mini-opt -p`.
"""

from __future__ import annotations

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
from ..dialects.garbage_collection import collection_paused
from ..dialects.sizes.size_attributes import guarded
from ..passes.statistics import timed
from .levels import LEVELS, Level, check_level, level_of
from .registry import load_pass


def _text(*passes: str) -> str:
    return ",".join(passes)


GRAPH = _text(
    "infer-shapes",  # all others read types of results
    "canonicalize-graph",  # one spelling, the only one that patterns below must know
    "split-quantized-transpose",  # before recompose-quantized: what it makes are convolutions
    "recompose-quantized",  # before fold-constants, which would make floats of quantised weights
    "fold-constants",  # what is recomposed is told by its constants
    "cse",  # a value that a pattern reads twice is one value
    "dce",  # a dead user would keep a pattern from matching
    "recompose-softmax",  # the four of them have no pieces in common: any order
    "recompose-layer-norm",  # likewise
    "recompose-gelu",  # likewise
    "recompose-silu",  # likewise
    "recompose-attention",  # after recompose-softmax: it is one between two products
    "slice-rows-first",  # after recompose-attention, which a slice between the pieces would hinder
    "fold-batch-norm",  # into convolutions, also transposed ones, before they are split
    "split-conv-transpose",  # before split-conv-depth: of volumes it makes convolutions of volumes
    "split-conv-depth",  # before channels-last, which is for pictures
)
"""What is computed, whatever the device: the same from few ops."""
DEVICE_GRAPH = _text(
    "split-pool",  # before channels-last, which takes pools along
    "group-pixels",  # before channels-last: pixels that are made together then lie where they belong
    "channels-last",  # before what reads a convolution's layout
    "canonicalize-graph",  # transposes that channels-last has added cancel those of the model
    "flatten-pointwise",  # once transposes that cancel are gone; before fold-constants: it reshapes weights
    "merge-products",  # once what is between products and attention are views
    "pair-gates",  # of products that merge-products has left
    "fold-constants",  # the two before concatenate weights
    "pad-conv",  # after the last canonicalize-graph, which would take pads back into the convolutions
    "flip-signs",  # of convolutions as pad-conv leaves them
    "widen-halves",  # after the last fold-constants, which would store widened weights
    "quantize-weights",  # of products as they are now, where it is asked for
    "recompose-block-weight",  # after widen-halves: its products are of f32
    "merge-products",  # of block-quantised weights
    "pair-gates",  # likewise
    "round-products",  # of all products that are none by blocks
    "pad-conv",  # again, of convolutions that now read pairs of channels
    "split-concat",  # after all that makes concatenations
    "cse",  # what the patterns before have written more than once
    "dce",  # of dead ops form-kernels would make kernels without results
    "tile-batch",  # last: what fits a cache depends on types and layouts
    "stream-rows",  # likewise
)
"""How the target's kernels are fastest: layouts, borders, types, and products that are done together."""
KERNELS = _text(
    "split-means",  # before form-kernels: means of rows join the kernel that makes the rows
    "split-norms",  # before form-kernels: likewise moments, and what normalises rows those that read them
    "narrow-rows",  # after split-norms: rows that are normalised are read as they are
    "form-kernels",  # ops that share a loop nest
    "fold-kernels",  # before choose-schedule, which asks for weights as they are read best
    "limit-threads",  # before choose-schedule, which cuts work for the threads there are
    "choose-schedule",  # of kernels, which are whole now
    "limit-scratch",  # before pack-weights: weights are packed as the schedule that is left asks
    "split-weights",  # after choose-schedule: parts have the whole's schedule, which tells how weights are packed
    "pack-weights",  # as interfaces of schedules ask
)
BUFFERS = _text(
    "order-kernels",  # first: what may lie in place depends on the order
    "mark-inplace",  # before bufferize, which carries its marks out
    "bufferize",  # after order-kernels: buffers are written in the order of calls
    "elide-copies",  # copies are calls on buffers only now
)
ARENA = _text(
    "plan-arena",  # once all buffers are there, and no more than needed
    "prove-order",  # between the two: verify-arena checks its proof, too
    "verify-arena",  # judges the plan, and nothing that comes after changes an address
    "insert-barriers",  # between calls that touch the same bytes of the arena
)
LOOPS = _text(
    "insert-checks",  # before share-threads: it adds an argument to main, and stages get those
    "place-weights",  # likewise
    "advise-weights",  # after place-weights, whose offsets it reads; before share-threads: it parts stages
    "share-threads",  # before lower-kernels: a kernel's function takes its share
    "lower-kernels",  # once calls are in the functions that make them
    "insert-cancellation-points",  # between the calls of functions that lower-kernels makes
)
LLVM = _text(
    "expand-math",  # before lower-to-llvm, which makes calls of the C library of what is left
    "lower-to-llvm",  # last
)
LAUNCHES = _text(
    "insert-checks",  # before lower-kernels-to-gpu: it adds an argument to main, and launches get those
    "place-weights",  # likewise
    "lower-kernels-to-gpu",  # last
)
ASKED_FOR = (
    "choose-token",  # before all others of the graph: less is computed where only the token is asked for
    "narrow-caches",  # likewise: what reads a cache is recognised with a cast in front of it
    "poison-dead",  # before the loops' other passes: share-threads makes stages of its calls as of others
    "profile-kernels",  # behind them: it times the functions that lower-kernels calls
    "split-weights",  # in its place among the kernels' passes
    "prove-order",  # in its place among the arena's passes
    "advise-weights",  # in its place among the loops' passes
)
"""Passes that run only where a change names them."""
BELOW: dict[str, dict[Level, str]] = {"cpu": {"loops": LOOPS, "llvm": LLVM}, "cuda": {"launches": LAUNCHES}}
"""The passes of each device below the arena. Above it only targets differ, and with them rules and schedules."""
PATHS: dict[str, tuple[Level, ...]] = {
    device: (*LEVELS[: LEVELS.index("arena") + 1], *BELOW[device]) for device in BELOW
}
"""The levels of each device, top down."""

# With optimisations switched off: types are checked, what only folding can express is folded, and what has code on
# wide floats only is widened; every op is a kernel of its own; every value has bytes of its own. Where weights are
# rounded, so are tables before they are copied to be transposed, and what is a weight only once it is folded.
PLAIN_GRAPH = (
    "infer-shapes,quantize-weights,fold-constants,widen-halves{required=true},quantize-weights,split-concat,cse,dce"
)
PLAIN_KERNELS = _text("form-kernels{fuse=false}", "limit-threads", "choose-schedule", "split-weights", "pack-weights")
PLAIN_BUFFERS = "bufferize"
NO_REUSE = "plan-arena{strategy=naive}"


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
PassOptions = Mapping[str, Mapping[str, str | int | None] | None]
"""Options by the names of passes."""


def phases(
    device: str = "cpu", *, optimize: bool = True, plan_memory: bool = True, changes: Sequence[str] = ()
) -> tuple[Phase, ...]:
    """All phases of the compilation for a device of BELOW.

    Without `optimize` every ONNX op is a kernel of its own; without `plan_memory` no bytes are reused. `changes` are
    texts such as "choose-schedule{compact=true},-pair-gates": each sets options of a pass wherever it stands in the
    pipeline, or leaves out the pass whose name follows a "-".
    """
    options: dict[str, dict[str, str] | None] = dict.fromkeys(ASKED_FOR)
    named_options = ",".join((*changes, "" if plan_memory else NO_REUSE))
    for left_out, name, given in re.findall(r"(-?)\b([\w-]+)(?:\{(.*?)\})?", named_options):
        named = dict(option.split("=", 1) for option in given.split())
        options[name] = None if left_out else {**(options.get(name) or {}), **named}
    below, (token, caches, poison, profile, *_) = dict(BELOW[device]), ASKED_FOR
    if "loops" in below:
        below["loops"] = _text(poison, below["loops"], profile)
    selected: list[tuple[Level, str]] = [
        ("graph", _text(token, caches)),
        *(("graph", each) for each in ((GRAPH, DEVICE_GRAPH) if optimize else (PLAIN_GRAPH,))),
        ("kernels", KERNELS if optimize else PLAIN_KERNELS),
        ("buffers", BUFFERS if plan_memory else PLAIN_BUFFERS),
        ("arena", ARENA),
        *below.items(),
    ]
    made = (Phase(level, with_options(passes, options)) for level, passes in selected)
    return tuple(phase for phase in made if phase.passes)


def with_options(passes: str, options: PassOptions) -> str:
    """The pipeline text with each pass's options added; an option, or a pass, whose value is None is left out."""
    texts: list[str] = []
    for name in passes.split(","):
        given = options.get(name, {})
        if given is not None:
            parts = [f"{key}={value}" for key, value in given.items() if value is not None]
            texts.append(f"{name}{{{' '.join(parts)}}}" if parts else name)
    return _text(*texts)


def remaining_phases(
    module: ModuleOp, to: Level, every: Sequence[Phase] | None = None, *, changes: Sequence[str] = ()
) -> tuple[Phase, ...]:
    """The phases that take `module` from its level to the level `to`.

    `every` are the phases to select from (by default all, with `changes`). A module at the graph level may be just
    imported, so the graph passes run, perhaps again; a module at the arena level may be just planned, so it is verified
    and gets barriers where they are missing. Raises ConfigError if the module is already below `to`, or its device has
    no such level.
    """
    device, level = _device_of(module), level_of(module)
    path = PATHS[device]
    if to not in path:
        raise ConfigError(f"there is no level {to} for this module's device, which has {', '.join(path)}")
    start, end = path.index(level), path.index(to)
    if start > end:
        raise ConfigError(f"the module is at the {level} level already, below {to}")
    first = start + 1 if start else 0
    every = every or phases(device, changes=changes)
    selected = [phase for phase in every if first <= path.index(phase.level) <= end]
    if level == "arena":
        planned = next(phase for phase in every if phase.level == "arena")
        again = [each for each in parse_passes(planned.passes) if each.name != "plan-arena"]
        selected.insert(0, Phase("arena", pipeline_text(again)))
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
        raise ConfigError(f"the pass pipeline can't be parsed\n{place.rstrip()}") from error
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
