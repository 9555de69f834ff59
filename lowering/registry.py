"""Names of levels, passes and dialects for the tools: `name -> "module:Class"`, by folder for passes of our own.

Tables of strings, so that a tool starts without importing passes and dialects that it doesn't use.
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

# The passes of each level, by their folders: fold-relu is FoldRelu in fold_relu.py.
_OURS: dict[Level, dict[str, str]] = {
    "graph": {
        "passes.graph": "infer-shapes,fold-constants,canonicalize-graph,fold-batch-norm,recompose-softmax,"
        "recompose-layer-norm,recompose-gelu,recompose-quantized,recompose-silu,recompose-attention,widen-halves,"
        "channels-last,pad-conv,split-concat,group-pixels,tile-batch,split-conv-depth,"
        "split-conv-transpose,flip-signs,recompose-block-weight,merge-products,pair-gates",
        "passes.graph.language_models": "choose-token,narrow-caches,slice-rows-first",
        "passes.graph.quantization": "quantize-weights,round-products,split-quantized-transpose",
        "passes.graph.streams": "stream-rows",
        "passes.graph.windows": "flatten-pointwise,split-pool",
        "passes.kernels": "split-means,split-norms,narrow-rows,form-kernels",
    },
    "kernels": {
        "passes.kernels": "fold-kernels,limit-threads,choose-schedule,split-weights,pack-weights",
        "passes.memory": "limit-scratch,order-kernels,mark-inplace,bufferize",
    },
    "buffers": {"passes.memory": "elide-copies,plan-arena"},
    "arena": {
        "passes.memory": "verify-arena,prove-order,insert-barriers,poison-dead,insert-checks,place-weights,"
        "advise-weights,share-threads",
        "lowering.kernels_to_loops": "lower-kernels",
        "lowering.kernels_to_gpu": "lower-kernels-to-gpu",
    },
    "loops": {
        "lowering.kernels_to_loops": "insert-cancellation-points,profile-kernels",
        "lowering.loops_to_llvm": "expand-math,lower-to-llvm",
    },
}
_XDSL = {
    "canonicalize": "xdsl.transforms.canonicalize:CanonicalizePass",
    "cse": "xdsl.transforms.common_subexpression_elimination:CommonSubexpressionElimination",
    "dce": "xdsl.transforms.dead_code_elimination:DeadCodeElimination",
    "licm": "xdsl.transforms.loop_invariant_code_motion:LoopInvariantCodeMotionPass",
    "convert-scf-to-cf": "xdsl.transforms.convert_scf_to_cf:ConvertScfToCf",
}


def _entry(folder: str, name: str) -> str:
    return f"mini_infer.{folder}.{name.replace('-', '_')}:{''.join(word.capitalize() for word in name.split('-'))}"


PASSES_BY_LEVEL: dict[Level | None, dict[str, str]] = {
    **{
        level: {name: _entry(folder, name) for folder, names in folders.items() for name in names.split(",")}
        for level, folders in _OURS.items()
    },
    None: _XDSL,
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
    "amx": "mini_infer.dialects.amx:Amx",
    # xDSL's, repaired
    "gpu": "mini_infer.dialects.gpu:Gpu",
    "nvgpu": "mini_infer.dialects.gpu.nvgpu:NvGpu",
    "arith": "mini_infer.dialects.extensions.arith:Arith",
    "llvm": "mini_infer.dialects.extensions.llvm:LLVM",
    "memref": "mini_infer.dialects.extensions.memref:MemRef",
    "vector": "mini_infer.dialects.extensions.vector:Vector",
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
