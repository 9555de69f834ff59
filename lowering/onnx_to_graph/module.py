"""Imports a whole model as a module with one function."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

from numpy.typing import ArrayLike
from onnx import GraphProto, ValueInfoProto
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ...dialects.bounded_crops import Cut
from ...dialects.errors import InvalidModelError
from ...dialects.graph.base import GraphOp, named_location
from ...dialects.graph.blobs import blob_store
from ...dialects.graph.bounds import COUNTS, counts_attr
from ...dialects.graph.host import state_level
from ...dialects.graph.model_nodes import MODEL
from ...dialects.graph.ops.fail import FailOp
from ...dialects.graph.output_labels import KEYS, LABELS, labels_attr
from ...dialects.graph.values import element_type_of_value, shape_of
from ...dialects.sizes.polynomials import Symbol
from ...dialects.sizes.size_attributes import SYMBOLS, SymbolsAttr
from ...dialects.sizes.sizes import Size, is_fixed
from ...passes.statistics import pass_statistics
from .bounded import Bounds
from .check import isolated_nodes, named_nodes, opset_versions, ordered_nodes
from .declared_inputs import Ranges, input_types, input_values, ranged_shapes
from .declared_kv_caches import cache_attributes
from .element_types import element_type
from .emitter import Emitter
from .functions import model_functions
from .importer import Importer
from .inlining import Inlining
from .model_file import ModelFile
from .non_tensors import LabelledRows, Texts
from .operators import OperatorCheck
from .scope import Scope


def import_module(
    file: ModelFile,
    dims: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    specialize: Mapping[str, ArrayLike],
    ctx: Context,
    ranges: Ranges | None = None,
    caches: Mapping[str, str] | None = None,
    rooms: Mapping[str, tuple[int, int]] | None = None,
    tensors: Sequence[str] | None = None,
) -> ModuleOp:
    """See `import_onnx`; `rooms` are those of CacheLimits."""
    graph = file.proto.graph
    opsets = opset_versions(file.proto)
    functions = model_functions(file.proto)
    nodes = ordered_nodes(graph, tensors)
    if tensors is None and (isolated := isolated_nodes(graph)):
        warnings.warn(f"nodes connected to nothing, ignored: {', '.join(isolated)}", stacklevel=3)
        pass_statistics(ctx).isolated += isolated
    check = OperatorCheck(functions)
    check.check(nodes, opsets)
    Inlining(functions).check(nodes)
    values = input_values(graph, specialize)
    if ranges is not None:
        shapes = {**shapes, **ranged_shapes(graph, ranges, dims)}
    ranges = Ranges() if ranges is None else ranges
    inputs = input_types(graph, dims, shapes, values, ranges.shapes, ranges.dims)

    block = Block(arg_types=list(inputs.values()))
    arguments = dict(zip(inputs, block.args, strict=True))
    emitter = Emitter(block, blob_store(ctx), {argument: name for name, argument in arguments.items()})
    importer = Importer(file, emitter, check)
    scope = Scope(opsets, importer.initializers(graph))
    for name, value in values.items():
        scope.define(name, emitter.constant(value, named_location(name)))
    for name, argument in arguments.items():
        scope.define(name, argument)
        importer.tensors.name(argument, name)
    importer.run(nodes, scope)

    returned = list(graph.output) if tensors is None else _tensors(graph, tensors, scope)
    named = _named([value.name for value in returned])
    results = list[SSAValue]()
    for number, value in enumerate(returned):
        match scope.held(value.name):
            case Texts(places, labels):
                named[number] = DictionaryAttr({**named[number].data, LABELS: labels_attr(labels)})
                results.append(places)
            case LabelledRows(numbers, keys):
                named[number] = DictionaryAttr({**named[number].data, KEYS: labels_attr(keys)})
                results.append(numbers)
            case _:
                results.append(scope.value(value.name, f"output {value.name}"))
    for value, result in zip(returned, results, strict=True):
        if isinstance(scope.held(value.name), SSAValue):
            _check_output(value, result, emitter.bounds_of(result), free=bool(ranges.shapes))
        emitter.place(result)
    for count, cuts in _counts(results, emitter).items():
        name = StringAttr(f"{returned[cuts[0][0]].name}.count")
        named.append(DictionaryAttr({"graph.name": name, COUNTS: counts_attr(cuts)}))
        results.append(count)
    _drop_unused(block, results)
    _warn_of_failures(block)
    block.add_op(ReturnOp(*results))
    types = ([argument.type for argument in block.args], [result.type for result in results])
    outputs = dict(zip([value.name for value in returned], results, strict=False))
    kept = cache_attributes(inputs, outputs, caches or {}, rooms or {})
    arguments = ArrayAttr(
        [
            DictionaryAttr({**each.data, **kept.get(name, {})})
            for name, each in zip(inputs, _named(list(inputs)), strict=True)
        ]
    )
    module = ModuleOp([FuncOp("main", types, Region(block), arg_attrs=arguments, res_attrs=ArrayAttr(named))])
    state_level(module, "graph")
    module.attributes[MODEL] = importer.tensors.attribute(graph, named_nodes(graph.node))
    if symbols := _symbols([size for type in inputs.values() for size in type.get_shape()]):
        module.attributes[SYMBOLS] = SymbolsAttr(symbols)
    return module


def _tensors(graph: GraphProto, names: Sequence[str], scope: Scope) -> list[ValueInfoProto]:
    """The values of these names as outputs, without those that are no tensors of numbers."""
    declared = {value.name: value for value in graph.output}
    return [declared.get(name, ValueInfoProto(name=name)) for name in names if isinstance(scope.held(name), SSAValue)]


def _symbols(sizes: Sequence[int]) -> tuple[Size, ...]:
    """The symbols of the inputs' sizes, in order of creation: each is a dimension, or its factor besides a unit."""
    found: dict[Symbol, Size] = {}
    for size in sizes:
        if isinstance(size, Size) and len(size.terms) == 1:
            (((*atoms,), factor),) = size.terms
            if len(atoms) == 1 and isinstance(symbol := atoms[0], Symbol):
                found[symbol] = Size(size.value // factor, frozenset({((symbol,), 1)}))
    return tuple(found[symbol] for symbol in sorted(found, key=lambda symbol: symbol.number))


def _counts(results: Sequence[SSAValue], emitter: Emitter) -> dict[SSAValue, list[Cut]]:
    """The bounded results: their counts, and the axes these cut."""
    found: dict[SSAValue, list[Cut]] = {}
    for number, result in enumerate(results):
        for axis, count in emitter.bounds_of(result).items():
            found.setdefault(count, []).append((number, axis))
    return found


def _check_output(value: ValueInfoProto, result: SSAValue, bounds: Bounds, *, free: bool) -> None:
    """Compares an output with its declaration: another element type is an error, another shape a warning.

    With `free`, inputs may have other shapes than declared, and so may outputs.
    """
    if value.type.WhichOneof("value") != "tensor_type":
        return
    stated = value.type.tensor_type
    if stated.elem_type:
        wanted = element_type(stated.elem_type, f"output {value.name}")
        if element_type_of_value(result) != wanted:
            raise InvalidModelError(f"output {value.name} should be {wanted}, but is {element_type_of_value(result)}")
    if free or not stated.HasField("shape"):
        return
    shape = [-1 if axis in bounds else size for axis, size in enumerate(shape_of(result))]
    sizes = [entry.dim_value if entry.HasField("dim_value") else -1 for entry in stated.shape.dim]
    if len(sizes) != len(shape) or any(
        size not in (-1, real) and real != -1 and is_fixed(real) for size, real in zip(sizes, shape, strict=True)
    ):
        warnings.warn(
            f"output {value.name} has shape {list(shape_of(result))}, but the model states {sizes}", stacklevel=4
        )


def _warn_of_failures(block: Block) -> None:
    """Warns about branches that would fail at run time because of contradictory shapes."""
    for message in dict.fromkeys(op.message.data for op in block.walk() if isinstance(op, FailOp)):
        warnings.warn(f"{message}; a run that takes it fails with this error", stacklevel=4)


def _drop_unused(block: Block, results: Sequence[SSAValue]) -> None:
    """Erases ops without uses, such as unused parts of an inlined definition."""
    for op in reversed(list(block.ops)):
        if isinstance(op, GraphOp) and not any(value.uses or value in results for value in op.results):
            op.detach()
            op.erase()


def _named(names: Sequence[str]) -> list[DictionaryAttr]:
    return [DictionaryAttr({"graph.name": StringAttr(name)}) for name in names]
