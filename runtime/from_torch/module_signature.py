"""ModuleSignature: which tensors of a module's arguments are the inputs, and how outputs make up its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...dialects.arguments import shown
from ...dialects.errors import InvalidInputError
from .onnx_program import ExportedModule
from .torch_package import torch_module


@dataclass(frozen=True)
class _Constant:
    """An argument or a part of the result that the export fixed."""

    value: Any


@dataclass(frozen=True)
class ModuleSignature:
    """The arguments and the result of an exported module, as trees whose leaves are inputs, outputs and constants."""

    names: tuple[str, ...]
    """Of the arguments: `positional` of them by place, the others by keyword, in the order of the export."""
    positional: int
    arguments: Any
    """The tree of (positional arguments, keyword arguments)."""
    leaves: tuple[_Constant | str, ...]
    """The arguments' leaves: the names of inputs, or constants."""
    results: Any
    """The tree of the result; None for a model exported elsewhere, which returns a tensor or a tuple."""
    outputs: tuple[_Constant | str, ...]
    """The result's leaves: "" for a tensor, "complex" for one of complex numbers, "number" for a size."""
    ranges: Mapping[str, Sequence[tuple[int, str, int, int | None]]]
    """Input -> (axis, dimension, smallest size, largest or None)."""

    @cached_property
    def is_flat(self) -> bool:
        """Whether no argument is built of others."""
        return self.arguments is None or all(map(_is_leaf, self._arguments()))

    def _arguments(self) -> list[Any]:
        return [each for kind in _children(self.arguments) for each in _children(kind)]

    @cached_property
    def _returns(self) -> str:
        """What the results are, in the cases that need no tree: "tensor" or "tuple"."""
        if any(self.outputs):
            return ""
        if self.results is None:
            return "tuple"
        if _is_leaf(self.results):
            return "tensor"
        return "tuple" if self.results.type is tuple and all(map(_is_leaf, _children(self.results))) else ""

    @cached_property
    def _has_ranges(self) -> bool:
        return any(self.ranges.values())

    def takes(self, given: Mapping[str, Any]) -> bool:
        """Whether a mapping is the module's one argument, rather than inputs by name."""
        if self.positional != 1 or len(self.names) != 1 or self.arguments is None:
            return False
        return torch_module("torch.utils._pytree").tree_flatten(((given,), {}))[1] == self.arguments

    def inputs(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The values of the inputs, in order. Raises InvalidInputError for arguments unlike those of the export."""
        values: Sequence[Any] = args
        if kwargs or len(args) != len(self.names):
            placed = self._placed(args, kwargs)
            values = [placed[name] for name in self.names]
        if self.is_flat:
            return list(values) if self.leaves == self.names else self._checked(values)
        pytree = torch_module("torch.utils._pytree")
        keywords = dict(zip(self.names[self.positional :], values[self.positional :], strict=True))
        leaves, tree = pytree.tree_flatten((tuple(values[: self.positional]), keywords))
        if tree != self.arguments:
            raise InvalidInputError(
                f"the arguments are built as {_text(tree)}; the module was exported with {_text(self.arguments)}"
            )
        return self._checked(leaves)

    def _checked(self, leaves: Sequence[Any]) -> list[Any]:
        """The tensors of the arguments' leaves. Raises InvalidInputError for another constant."""
        found: list[Any] = []
        for leaf, value in zip(self.leaves, leaves, strict=True):
            if not isinstance(leaf, _Constant):
                found.append(value)
            elif type(value) is not type(leaf.value) or value != leaf.value:
                raise InvalidInputError(
                    f"an argument is {shown(value)}; the module was exported with {shown(leaf.value)}, "
                    "and only tensors may differ from call to call"
                )
        return found

    def _placed(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name."""
        if len(args) > len(self.names):
            raise InvalidInputError(
                f"{len(args)} arguments are given; the module was exported with {len(self.names)}: "
                f"{', '.join(self.names)}"
            )
        placed = dict(zip(self.names, args, strict=False))
        for name, value in kwargs.items():
            if name in placed:
                raise InvalidInputError(f"argument '{name}' is given twice")
            if name not in self.names:
                raise InvalidInputError(f"there is no argument '{name}'; the module was exported with {self._known()}")
            placed[name] = value
        for name in self.names:
            if name not in placed:
                raise InvalidInputError(f"argument '{name}' is missing; the module was exported with {self._known()}")
        return placed

    def _known(self) -> str:
        return ", ".join(self.names) or "none"

    def check_sizes(self, values: Sequence[Any]) -> None:
        """Raises InvalidInputError for a size outside of the range that the module was exported for."""
        for name, value in zip(self.ranges, values, strict=True) if self._has_ranges else ():
            shape = getattr(value, "shape", ())
            for axis, dimension, least, most in self.ranges[name]:
                if axis < len(shape) and (shape[axis] < least or (most is not None and shape[axis] > most)):
                    limit = f"at least {least}" if most is None else f"from {least} to {most}"
                    raise InvalidInputError(
                        f"input '{name}': dimension {axis} ({dimension}) is {shape[axis]}, but must be {limit}"
                    )

    def result(self, outputs: Sequence[Any]) -> Any:
        """What the module returns, made of the outputs in order."""
        if self._returns:
            single = self._returns == "tensor" or (self.results is None and len(outputs) == 1)
            return outputs[0] if single else tuple(outputs)
        left = iter(outputs)
        leaves = [leaf.value if isinstance(leaf, _Constant) else _leaf(leaf, next(left)) for leaf in self.outputs]
        return torch_module("torch.utils._pytree").tree_unflatten(leaves, self.results)


def _leaf(kind: str, value: Any) -> Any:
    if kind == "number":
        return int(value)
    return value if not kind else _complex(value)


def _complex(pairs: Any) -> Any:
    """Complex numbers of a tensor's or an array's pairs along its last axis."""
    if isinstance(pairs, np.ndarray):
        return pairs[..., 0] + 1j * pairs[..., 1]
    return torch_module("torch").view_as_complex(pairs)


def _text(tree: Any) -> str:
    return " ".join(str(tree).replace("TreeSpec", "").split())[:200]


def signature_of(exported: ExportedModule) -> ModuleSignature:
    """The signature of an exported module."""
    graph, program = exported.graph.model.graph, exported.program
    known = {each.name for each in graph.initializer} | exported.graph.weights.keys()
    free = [each for each in graph.input if each.name not in known]
    ranges: dict[str, list[tuple[int, str, int, int | None]]] = {}
    for each in free:
        dims = enumerate(each.type.tensor_type.shape.dim)
        named = [
            (axis, dim.dim_param, *exported.ranges[dim.dim_param])
            for axis, dim in dims
            if dim.dim_param in exported.ranges
        ]
        ranges[each.name] = [(axis, name, least, most) for axis, name, least, _, most in named]
    inputs = tuple(ranges)
    if program is None:
        return ModuleSignature(inputs, len(inputs), None, inputs, None, (), ranges)
    signature, spec = program.graph_signature, program.call_spec
    positional, keywords = _children(spec.in_spec)
    names = program.module_call_graph[0].signature.forward_arg_names or ()
    count = positional.num_children
    if len(names) != count + keywords.num_children:
        names = [*(f"argument {place}" for place in range(count)), *keywords.context]
    given, left = [each.arg for each in signature.input_specs if each.kind.name == "USER_INPUT"], iter(inputs)
    leaves = tuple(_Constant(arg.value) if hasattr(arg, "value") else next(left) for arg in given)
    made = [each.arg for each in signature.output_specs if each.kind.name == "USER_OUTPUT"]
    nodes = {node.name: node for node in program.graph.nodes}
    outputs = tuple(_Constant(arg.value) if hasattr(arg, "value") else _kind(nodes[arg.name]) for arg in made)
    return ModuleSignature(tuple(names), count, spec.in_spec, leaves, spec.out_spec, outputs, ranges)


def _children(tree: Any) -> Sequence[Any]:
    return tree.children() if hasattr(tree, "children") else tree.children_specs  # in the other order a warning


def _is_leaf(tree: Any) -> bool:
    return tree.is_leaf()


def _kind(node: Any) -> str:
    if not isinstance(node.meta["val"], torch_module("torch").Tensor):
        return "number"
    return "complex" if node.meta["val"].is_complex() else ""
