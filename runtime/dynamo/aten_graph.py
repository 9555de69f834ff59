"""ATen graphs of AOTAutograd as ONNX graphs: what is an input, a size, a weight or a change of an argument.

Such a graph is functional, with static or symbolic sizes; its last operations may copy new values into arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ...dialects.errors import UnsupportedError
from ..device import Array
from ..from_torch.onnx_program import flat_program, graph_of, is_random, onnx_program
from ..from_torch.tensors import array_of
from ..from_torch.torch_package import torch_module


@dataclass
class AtenGraph:
    """A graph as it is exported, and how its inputs and outputs are those of a call.

    Numbers are those of the call's arguments.
    """

    tensors: dict[int, str] = field(default_factory=dict[int, str])
    """Tensors that a call passes, and their names."""
    weights: dict[int, str] = field(default_factory=dict[int, str])
    """Tensors that are the same in all calls, and their names."""
    sizes: dict[int, str] = field(default_factory=dict[int, str])
    """Integers that no tensor's shape tells, and their names."""
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    """Tensors of the graph itself."""
    results: list[Result] = field(default_factory=list["Result"])
    changes: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(argument, output): the argument gets the output's value."""
    is_dynamic: bool = False
    model: Any = None
    """The ONNX model; None if nothing is computed."""


@dataclass(frozen=True)
class Result:
    """One of a graph's results: an output, or an argument, or a constant."""

    output: int | None = None
    argument: int | None = None
    constant: Any = None
    is_number: bool = False
    is_complex: bool = False
    order: tuple[int, ...] | None = None
    """The axes of the output in the order of the result's."""


def exported_graph(module: Any, static: Sequence[int]) -> AtenGraph:
    """Exports an ATen graph, which is changed; `static` are its inputs that are parameters and buffers.

    Raises UnsupportedError naming the operator.
    """
    found, graph = AtenGraph(), module.graph
    inputs = {node: place for place, node in enumerate(node for node in graph.nodes if node.op == "placeholder")}
    _check(graph, inputs)
    changed = _without_changes(graph, inputs)
    _lift_constants(module, found)
    _place_outputs(graph, inputs, changed, found)
    graph.eliminate_dead_code()
    _place_inputs(graph, inputs, {*static} - {argument for argument, _ in changed}, found)
    graph.lint()
    module.recompile()
    if any(result.output is not None for result in found.results) or found.changes:
        exported = graph_of(onnx_program(_program(module)))
        found.constants.update(exported.weights)
        found.model = exported.model
    return found


def _check(graph: Any, inputs: Iterable[Any]) -> None:
    """Raises UnsupportedError for what is not the same in each call, and for tensors that are elsewhere."""
    torch = torch_module("torch")
    for node in inputs:
        value = node.meta.get("val")
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                raise UnsupportedError(f"a tensor is on the device '{value.device}'")
            if value.layout != torch.strided:
                raise UnsupportedError(f"a tensor has the layout {value.layout}")
        elif not isinstance(value, int | torch.SymInt):
            raise UnsupportedError(f"an argument is a {type(value).__name__}")
    for node in graph.nodes:
        if node.op == "call_function" and is_random(node):
            raise UnsupportedError(f"{node.target} draws random numbers")


def _without_changes(graph: Any, inputs: Mapping[Any, int]) -> list[tuple[int, Any]]:
    """Removes the copies into arguments; returns (argument, its new value)."""
    copy = torch_module("torch").ops.aten.copy_.default
    changed: list[tuple[int, Any]] = []
    for node in [node for node in graph.nodes if node.target is copy]:
        target, value = node.args[:2]
        if target not in inputs:
            raise UnsupportedError(f"{copy} writes to '{target}', which is no argument")
        changed.append((inputs[target], value))
        node.replace_all_uses_with(target)
        graph.erase_node(node)
    return changed


def _lift_constants(module: Any, found: AtenGraph) -> None:
    """Makes tensors that the module holds inputs of the graph."""
    torch = torch_module("torch")
    fake = torch_module("torch._guards").TracingContext.get().fake_mode
    real = torch_module("torch._subclasses.fake_tensor").unset_fake_temporarily
    for node in [node for node in module.graph.nodes if node.op == "get_attr"]:
        value = module
        for part in str(node.target).split("."):
            value = getattr(value, part)
        if not isinstance(value, torch.Tensor):
            continue
        with module.graph.inserting_before(next(iter(module.graph.nodes))):
            lifted = module.graph.placeholder(f"constant_{node.name}")
        lifted.meta.update(node.meta)
        lifted.meta["val"] = fake.from_tensor(value, static_shapes=True)
        node.replace_all_uses_with(lifted)
        module.graph.erase_node(node)
        with real():  # not as the tracing around this would have it
            found.constants[lifted.name] = array_of(value)


def _place_outputs(graph: Any, inputs: Mapping[Any, int], changed: Sequence[tuple[int, Any]], found: AtenGraph) -> None:
    """Makes the results that are computed, and the new values of arguments, the graph's outputs."""
    torch = torch_module("torch")
    end = next(node for node in graph.nodes if node.op == "output")
    made: list[Any] = []
    for value in end.args[0]:
        if not isinstance(value, torch.fx.Node):
            found.results.append(Result(constant=value))
        elif value in inputs:
            found.results.append(Result(argument=inputs[value]))
        elif isinstance(value.meta["val"], torch.Tensor):
            order = _order(value.meta["val"])
            if order is not None:
                with graph.inserting_before(end):
                    moved = graph.call_function(torch.ops.aten.permute.default, (value, list(order)))
                moved.meta["val"] = value.meta["val"].permute(order)
                value = moved
            found.results.append(Result(len(made), is_complex=value.meta["val"].is_complex(), order=order))
            made.append(value)
        else:
            found.results.append(Result(output=len(made), is_number=True))
            made.append(value)
    for argument, value in changed:
        found.changes.append((argument, len(made)))
        made.append(value)
    end.args = (tuple(made),)


def _order(tensor: Any) -> tuple[int, ...] | None:
    """The axes from the outermost in memory to the innermost, if that makes a tensor row-major that isn't."""
    sizes, strides = [_hint(size) for size in tensor.shape], [_hint(stride) for stride in tensor.stride()]
    if None in sizes or None in strides or 0 in sizes:
        return None
    axes = [axis for axis, size in enumerate(sizes) if size != 1]
    order = sorted(axes, key=lambda axis: -cast("int", strides[axis]))
    count = 1
    for axis in reversed(order):
        if strides[axis] != count:  # expanded, or with gaps
            return None
        count *= cast("int", sizes[axis])
    places = iter(order)
    whole = tuple(axis if size == 1 else next(places) for axis, size in enumerate(sizes))
    return whole if whole != tuple(range(len(sizes))) else None


def _hint(size: Any) -> int | None:
    """A size of the call that the graph was traced for."""
    hint = size if isinstance(size, int) else size.node.hint
    return None if hint is None else int(hint)


def _place_inputs(graph: Any, inputs: Mapping[Any, int], static: set[int], found: AtenGraph) -> None:
    """Notes what each input is that is used; sizes are taken from a tensor that has them."""
    torch = torch_module("torch")
    known: dict[str, tuple[Any, int]] = {}
    tensors = {node: place for node, place in inputs.items() if isinstance(node.meta["val"], torch.Tensor)}
    for node in sorted((node for node in tensors if tensors[node] not in static), key=lambda node: not node.users):
        for axis, size in enumerate(node.meta["val"].shape):
            if isinstance(size, torch.SymInt):
                known.setdefault(str(size.node.expr), (node, axis))
    found.is_dynamic = bool(known)
    start = next(node for node in graph.nodes if node.op != "placeholder")
    for node in (node for node in inputs if node not in tensors and node.users):
        value = node.meta["val"]
        source = known.get(str(value.node.expr)) if isinstance(value, torch.SymInt) else None
        if source is None:
            found.sizes[inputs[node]] = node.name
            continue
        with graph.inserting_before(start):
            size = graph.call_function(torch.ops.aten.sym_size.int, source)
        size.meta["val"] = value
        node.replace_all_uses_with(size)
    for node, place in inputs.items():
        if not node.users:
            graph.erase_node(node)
        elif node in tensors:
            (found.weights if place in static else found.tensors)[place] = node.name


def _program(module: Any) -> Any:
    """An ATen graph as an ExportedProgram, all of whose inputs are a call's."""
    torch, kinds = torch_module("torch"), torch_module("torch.export.graph_signature")
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    (outputs,) = next(node for node in module.graph.nodes if node.op == "output").args

    def argument(node: Any) -> Any:
        kind = kinds.SymIntArgument if isinstance(node.meta["val"], int | torch.SymInt) else kinds.TensorArgument
        return kind(name=node.name)

    given = [kinds.InputSpec(kinds.InputKind.USER_INPUT, argument(node), None) for node in inputs]
    made = [kinds.OutputSpec(kinds.OutputKind.USER_OUTPUT, argument(node), None) for node in outputs]
    arguments = torch_module("torch.utils._pytree").tree_flatten(((0,) * len(given), {}))[1]
    return flat_program(module, module.graph, kinds.ExportGraphSignature(given, made), arguments)
