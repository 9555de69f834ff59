"""Import of ONNX models to the graph dialect. Only this folder knows ONNX.

An import goes through: `model_file` (load; weights stay in their files), `check` (validates the graph), `operators` (is
every operator supported?), `inputs` (binds dynamic dimensions), `importer` (node by node, by the handlers of the
operators' families, handlers/ and microsoft/; `emitter` folds values known at import).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from ...dialects import lazy_formats  # before the first of xDSL's dialects
from ...dialects.arguments import check_kind, checked_mapping, checked_sizes, is_integer, wrong

del lazy_formats

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from xdsl.context import Context
    from xdsl.dialects.builtin import ModuleOp

    from .declared_inputs import Ranges
    from .model_file import ModelSource


def import_onnx(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    specialize: Mapping[str, ArrayLike] | None = None,
    ranges: Ranges | None = None,
    caches: Mapping[str, str] | None = None,
    cache_memory: int | None = None,
    tensors: Sequence[str] | None = None,
    ctx: Context | None = None,
) -> ModuleOp:
    """Imports a model as a module whose `@main` computes it.

    `dims` binds the model's dynamic dimensions by name, `shapes` gives whole shapes of inputs. `ranges` names
    dimensions that stay symbolic; where equations between quotients of them require divisibility, code is compiled for
    multiples. `specialize` gives values to inputs, which become constants and are no inputs of `@main`. `caches` names
    inputs, and for each the output that shares its memory (dialects/graph/kv_cache_attributes.py); `cache_memory`
    limits the bytes of all of them, and so the ranges of dimensions. `tensors` names tensors of the model's graph that
    `@main` returns in place of the model's outputs, without those that are no tensors of numbers.

    Weights are mapped from the model's files. Those that exist only in memory (typed data fields, folded values,
    weights of a model that isn't a file) go to the `BlobStore` of `ctx`: pass one to read them.

    Raises InvalidModelError for a broken model; UnsupportedError for one that can't be compiled (naming every
    unsupported operator); its subclass UnknownValueError where an input's value must be known at import;
    InvalidInputError for unbound dimensions, unknown tensors, and shapes and values that don't fit; PlanError for
    caches that don't fit into `cache_memory`. Nodes connected to nothing are ignored with a warning.
    """
    from xdsl.context import Context

    from ...dialects.graph.blobs import MiniContext
    from ...dialects.sizes.guards import Guards, units_of
    from ...dialects.sizes.size_attributes import state_guards
    from .declared_inputs import Ranges
    from .language_models.kv_cache_budget import is_special, limits_of
    from .model_file import load_model
    from .model_tensors import asked_tensors
    from .module import import_module

    ctx = MiniContext() if ctx is None else ctx
    check_kind("ctx", ctx, Context)
    if ranges is not None:
        check_kind("ranges", ranges, Ranges)
    dims = checked_mapping("dims", {} if dims is None else dims, "dimensions to sizes")
    for name, size in dims.items():
        if not is_integer(size):
            raise wrong(f"dims: '{name}'", size, "an integer")
    shapes = checked_mapping("shapes", {} if shapes is None else shapes, "inputs to shapes")
    shapes = {name: checked_sizes(f"shapes: '{name}'", shape) for name, shape in shapes.items()}
    specialize = checked_mapping("specialize", {} if specialize is None else specialize, "inputs to values")
    caches = checked_mapping("caches", {} if caches is None else caches, "inputs to outputs")
    for name, output in caches.items():
        if not isinstance(cast("object", output), str):
            raise wrong(f"caches: '{name}'", output, "an output's name")
    file = load_model(model)
    if tensors is not None:
        tensors = asked_tensors(file.proto.graph, tensors)
    given = (file, dims, shapes, specialize, ctx)
    if ranges is None:
        module = import_module(*given, None, caches, tensors=tensors)
        limits_of(module, cache_memory)
        return module
    with Guards().collecting() as guards:
        module = import_module(*given, ranges, caches, tensors=tensors)
    units, usual = units_of(guards), module
    if ranges.best and not ranges.open and is_special(module):  # caches have the same room at all shapes
        with Guards().collecting():
            usual = import_module(*given, replace(ranges, best={}), caches, tensors=tensors)
    limits = limits_of(usual, cache_memory)
    if units or limits.dims or usual is not module:
        ranges = replace(ranges, units=units, limits=limits.dims)
        with Guards().collecting() as guards:
            module = import_module(*given, ranges, caches, limits.rooms, tensors)
    state_guards(module, guards)
    return module


__all__ = ["import_onnx"]
