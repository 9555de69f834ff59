"""Names of levels, passes and dialects for the tools, one line each: `name -> "module:Class"`.

A table of strings, so that a tool starts without importing passes and dialects that it doesn't use.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast, get_args

from ..dialects.errors import ConfigError

if TYPE_CHECKING:
    from xdsl.ir import Dialect
    from xdsl.passes import ModulePass

Level = Literal["graph", "kernels", "buffers", "arena", "loops", "llvm", "launches"]
LEVELS: tuple[Level, ...] = get_args(Level)  # top down; see levels.py

# The passes by the level that they work on; xDSL's work on any.
PASSES_BY_LEVEL: dict[Level | None, dict[str, str]] = {
    "graph": {
        "infer-shapes": "mini_infer.passes.graph.infer_shapes:InferShapes",
        "fold-constants": "mini_infer.passes.graph.fold_constants:FoldConstants",
        "canonicalize-graph": "mini_infer.passes.graph.canonicalize_graph:CanonicalizeGraph",
        "fold-batch-norm": "mini_infer.passes.graph.fold_batch_norm:FoldBatchNorm",
        "recompose-softmax": "mini_infer.passes.graph.recompose_softmax:RecomposeSoftmax",
        "recompose-layer-norm": "mini_infer.passes.graph.recompose_layer_norm:RecomposeLayerNorm",
        "recompose-gelu": "mini_infer.passes.graph.recompose_gelu:RecomposeGelu",
        "recompose-quantized": "mini_infer.passes.graph.recompose_quantized:RecomposeQuantized",
        "recompose-silu": "mini_infer.passes.graph.recompose_silu:RecomposeSilu",
        "recompose-attention": "mini_infer.passes.graph.recompose_attention:RecomposeAttention",
        "widen-halves": "mini_infer.passes.graph.widen_halves:WidenHalves",
        "channels-last": "mini_infer.passes.graph.channels_last:ChannelsLast",
        "pad-conv": "mini_infer.passes.graph.pad_conv:PadConv",
        "split-concat": "mini_infer.passes.graph.split_concat:SplitConcat",
        "group-pixels": "mini_infer.passes.graph.group_pixels:GroupPixels",
        "tile-batch": "mini_infer.passes.graph.tile_batch:TileBatch",
        "split-conv-depth": "mini_infer.passes.graph.split_conv_depth:SplitConvDepth",
        "split-conv-transpose": "mini_infer.passes.graph.split_conv_transpose:SplitConvTranspose",
        "flip-signs": "mini_infer.passes.graph.flip_signs:FlipSigns",
        "recompose-block-weight": "mini_infer.passes.graph.recompose_block_weight:RecomposeBlockWeight",
        "merge-products": "mini_infer.passes.graph.merge_products:MergeProducts",
        "pair-gates": "mini_infer.passes.graph.pair_gates:PairGates",
        "split-means": "mini_infer.passes.kernels.split_means:SplitMeans",
        "form-kernels": "mini_infer.passes.kernels.form_kernels:FormKernels",
    },
    "kernels": {
        "limit-threads": "mini_infer.passes.kernels.limit_threads:LimitThreads",
        "choose-schedule": "mini_infer.passes.kernels.choose_schedule:ChooseSchedule",
        "pack-weights": "mini_infer.passes.kernels.pack_weights:PackWeights",
        "order-kernels": "mini_infer.passes.memory.order_kernels:OrderKernels",
        "mark-inplace": "mini_infer.passes.memory.mark_inplace:MarkInplace",
        "bufferize": "mini_infer.passes.memory.bufferize:Bufferize",
    },
    "buffers": {
        "elide-copies": "mini_infer.passes.memory.elide_copies:ElideCopies",
        "plan-arena": "mini_infer.passes.memory.plan_arena:PlanArena",
    },
    "arena": {
        "verify-arena": "mini_infer.passes.memory.verify_arena:VerifyArena",
        "insert-barriers": "mini_infer.passes.memory.insert_barriers:InsertBarriers",
        "poison-dead": "mini_infer.passes.memory.poison_dead:PoisonDead",
        "insert-checks": "mini_infer.passes.memory.insert_checks:InsertChecks",
        "place-weights": "mini_infer.passes.memory.place_weights:PlaceWeights",
        "share-threads": "mini_infer.passes.memory.share_threads:ShareThreads",
        "lower-kernels": "mini_infer.lowering.kernels_to_loops.lower_kernels:LowerKernels",
        "lower-kernels-to-gpu": "mini_infer.lowering.kernels_to_gpu.lower_kernels_to_gpu:LowerKernelsToGpu",
    },
    "loops": {
        "profile-kernels": "mini_infer.lowering.kernels_to_loops.profile_kernels:ProfileKernels",
        "expand-math": "mini_infer.lowering.loops_to_llvm.expand_math:ExpandMath",
        "lower-to-llvm": "mini_infer.lowering.loops_to_llvm.lower_to_llvm:LowerToLlvm",
    },
    None: {
        "canonicalize": "xdsl.transforms.canonicalize:CanonicalizePass",
        "cse": "xdsl.transforms.common_subexpression_elimination:CommonSubexpressionElimination",
        "dce": "xdsl.transforms.dead_code_elimination:DeadCodeElimination",
        "licm": "xdsl.transforms.loop_invariant_code_motion:LoopInvariantCodeMotionPass",
        "convert-scf-to-cf": "xdsl.transforms.convert_scf_to_cf:ConvertScfToCf",
    },
}
PASSES = {name: entry for passes in PASSES_BY_LEVEL.values() for name, entry in passes.items()}
LEVEL_OF_PASS: dict[str, Level | None] = {name: level for level, passes in PASSES_BY_LEVEL.items() for name in passes}

# Most of xDSL's passes have no docstring to take a summary from.
XDSL_SUMMARIES = {
    "canonicalize": "the patterns and folds that ops bring with them, until nothing changes",
    "cse": "of equal ops without effects one is kept",
    "dce": "ops without effects whose results nobody uses go",
    "licm": "ops that don't depend on a loop's values move in front of it",
    "convert-scf-to-cf": "structured loops and branches become blocks and jumps",
}

DIALECTS = {
    "graph": "mini_infer.dialects.graph.dialect:Graph",
    "kernel": "mini_infer.dialects.kernel.calls:Kernel",
    # xDSL's, repaired
    "gpu": "mini_infer.dialects.gpu:Gpu",
    "nvgpu": "mini_infer.dialects.gpu:NvGpu",
    "arith": "mini_infer.dialects.extensions:Arith",
    "llvm": "mini_infer.dialects.extensions:LLVM",
    "memref": "mini_infer.dialects.extensions:MemRef",
    "vector": "mini_infer.dialects.extensions:Vector",
    # xDSL's own
    "builtin": "xdsl.dialects.builtin:Builtin",
    "cf": "xdsl.dialects.cf:Cf",
    "func": "xdsl.dialects.func:Func",
    "math": "xdsl.dialects.math:Math",
    "scf": "xdsl.dialects.scf:Scf",
    "tensor": "xdsl.dialects.tensor:Tensor",
    "test": "xdsl.dialects.test:Test",
}


def load(entry: str) -> object:
    """Imports the object of a `module:Name` entry."""
    module, _, name = entry.partition(":")
    return getattr(import_module(module), name)


def load_pass(name: str) -> type[ModulePass]:
    """The class of a pass. Raises ConfigError for an unknown name."""
    if name not in PASSES:
        near = get_close_matches(name, PASSES, n=1)
        raise ConfigError(f"there is no pass '{name}'" + (f"; is '{near[0]}' meant?" if near else ""))
    return cast("type[ModulePass]", load(PASSES[name]))


def pass_factories() -> dict[str, Callable[[], type[ModulePass]]]:
    """A factory for every pass, which imports it at first use."""
    return {name: partial(load_pass, name) for name in PASSES}


def dialect_factories() -> dict[str, Callable[[], Dialect]]:
    """A factory for every dialect, which imports it at first use."""
    return {name: partial(cast("Callable[[str], Dialect]", load), entry) for name, entry in DIALECTS.items()}


def pass_summary(name: str) -> str:
    """The summary of a pass: the first line of its file's docstring, read without importing it."""
    if name in XDSL_SUMMARIES:
        return XDSL_SUMMARIES[name]
    spec = find_spec(PASSES[name].partition(":")[0])
    assert spec is not None and spec.origin is not None, f"{PASSES[name]} is not there"
    docstring = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8")))
    assert docstring, f"{spec.origin} has no docstring"
    return docstring.splitlines()[0].removeprefix(f"{name}: ").rstrip(".")


class PassOption(NamedTuple):
    """An option of a pass; its default as written in a pipeline, () for none and "none" for unset."""

    name: str
    type: str
    default: str


def pass_options(name: str) -> list[PassOption]:
    """The options of a pass."""
    from xdsl.passes import get_pass_option_infos

    infos = get_pass_option_infos(load_pass(name))
    return [PassOption(each.name, each.expected_type.strip("'"), each.default_value or "required") for each in infos]
