"""Recurrent networks: one op runs all steps of all directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import prod
from typing import ClassVar, Required, TypedDict

import numpy as np
from typing_extensions import Unpack, override
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnitAttr,
)
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from ...sizes.sizes import equal_shapes
from ..axes import Axes, Whole
from ..base import GraphOp, Property, require, require_float, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, is_bool, shape_of, tensor, widened
from .cell_activations import Activation, activation_attributes, activations_of

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


class CellOptions(TypedDict, total=False):
    """Keyword arguments of recurrent ops' constructors; absent activations are the cell's defaults."""

    hidden: Required[int]
    direction: str
    activations: Sequence[Activation]
    clip: float


class RecurrenceOp(GraphOp, ABC):
    """A cell run over a sequence, with ONNX's shapes and order of gates; a gate has H rows of the weights.

    x [T, B, I], w [D, gates H, I], r [D, gates H, H], bias [D, 2 gates H] (of w, then of r), initial states [D, B, H]
    -> y [T, D, B, H], which is h after each step, and final states [D, B, H]. D is 2 for "bidirectional", else 1.
    Absent operands are zero. `clip` clips the arguments of the gates' activations. Where the mask [T, B] is false, a
    step leaves the states unchanged, and its y is zero.
    """

    FORM: ClassVar[str] = "recurrence"
    WEIGHTS: ClassVar[tuple[int, ...]] = (1, 2)
    LINEAR: ClassVar[bool] = False  # its steps are taken one by one
    GATES: ClassVar[int]
    ACTIVATIONS: ClassVar[tuple[str, ...]]

    name = "graph.recurrence"

    x = operand_def()
    weight = operand_def()
    recurrence = operand_def()
    bias = opt_operand_def()
    initial_h = opt_operand_def()
    mask = opt_operand_def()
    hidden = prop_def(IntegerAttr[IntegerType])
    direction = prop_def(StringAttr)
    activations = opt_prop_def(ArrayAttr[StringAttr])
    parameters = opt_prop_def(DenseArrayBase[Float64Type])
    clip = opt_prop_def(FloatAttr[Float64Type])
    y = result_def()
    last_h = result_def()

    def _build_recurrence(
        self,
        operands: Sequence[SSAValue | Operation | None],
        options: CellOptions,
        location: LocationAttr | None,
        **properties: Property,
    ) -> None:
        if "clip" in options:
            properties["clip"] = float(options["clip"])
        if "activations" in options:
            properties |= activation_attributes(options["activations"], self.ACTIVATIONS)
        direction = options.get("direction", "forward")
        self._build(operands, location, hidden=options["hidden"], direction=direction, **properties)

    @property
    def states(self) -> Sequence[SSAValue | None]:
        """The initial states, each of which has a final one."""
        return [self.initial_h]

    def further_operands(self, directions: int, hidden: int) -> dict[str, tuple[SSAValue | None, tuple[int, ...]]]:
        """The cell's other operands by name, with their required shapes."""
        return {}

    @property
    def functions(self) -> list[Activation]:
        """The activations, in the cell's order."""
        return activations_of(self.activations, self.parameters, self.ACTIVATIONS)

    def clipped(self, x: Array) -> Array:
        """The clipped argument of an activation."""
        return x if self.clip is None else np.clip(x, -self.clip.value.data, self.clip.value.data)

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        given = self.given_labels(
            x="tbi",
            weight="dgi",
            recurrence="dgk",
            bias="dg",
            initial_h="dbh",
            initial_c="dbh",
            peephole="dp",
            mask="tb",
        )
        return self.labelled_axes(given, "dbh" if result else "tdbh", dict.fromkeys("tdh", Whole), result=result)

    @abstractmethod
    def step(self, x: Array, states: Sequence[Array], w: Array, r: Array, bias: Array, *more: Array) -> list[Array]:
        """States [B, H] after one step of one direction on x [B, I]; bias [2, gates H], `more` as further_operands."""

    @property
    @override
    def products(self) -> int:
        steps, batch, _ = shape_of(self.x)
        return steps * batch * (prod(shape_of(self.weight)) + prod(shape_of(self.recurrence)))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        activations_of(self.activations, self.parameters, self.ACTIVATIONS)
        direction = self.direction.data
        require(direction in DIRECTIONS, f'direction is one of {", ".join(DIRECTIONS)}, got "{direction}"')
        shape, hidden, count = shape_of(self.x), self.hidden.value.data, DIRECTIONS[direction]
        require(len(shape) == 3, f"the sequence needs three dimensions, got {len(shape)}")
        (steps, batch, inputs), rows = shape, self.GATES * hidden
        state = (count, batch, hidden)
        wanted = {
            "weight": (self.weight, (count, rows, inputs)),
            "recurrence weight": (self.recurrence, (count, rows, hidden)),
            "bias": (self.bias, (count, 2 * rows)),
            **{f"initial {name}": (value, state) for name, value in zip("hc", self.states, strict=False)},
            **self.further_operands(count, hidden),
        }
        require_same_element_type(self.x, *(value for value, _ in wanted.values()))
        for what, (value, expected) in wanted.items():
            if value is not None:
                fits = equal_shapes(shape_of(value), expected)
                require(fits, f"a {what} of shape {list(shape_of(value))} instead of {list(expected)}")
        if self.mask is not None:
            fits = is_bool(element_type_of_value(self.mask)) and equal_shapes(shape_of(self.mask), (steps, batch))
            require(fits, f"a mask of type {self.mask.type} instead of {steps}x{batch} booleans")
        element_type = element_type_of_value(self.x)
        return [tensor(element_type, (steps, *state)), *([tensor(element_type, state)] * len(self.states))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        given = iter(widened(array) for array in arrays)
        x, weight, recurrence = next(given), next(given), next(given)
        (steps, batch, _), count, hidden = x.shape, len(weight), self.hidden.value.data

        def optional(value: SSAValue | None, shape: Sequence[int]) -> Array:
            return np.zeros(shape, x.dtype) if value is None else next(given)

        bias = optional(self.bias, (count, 2 * self.GATES * hidden)).reshape(count, 2, self.GATES * hidden)
        last = [optional(value, (count, batch, hidden)).copy() for value in self.states]
        more = [optional(value, shape) for value, shape in self.further_operands(count, hidden).values()]
        mask = np.ones((steps, batch), np.bool_) if self.mask is None else next(given)
        y = np.zeros((steps, count, batch, hidden), x.dtype)
        for d in range(count):
            backwards = d == 1 or self.direction.data == "reverse"
            states = [state[d] for state in last]
            with np.errstate(all="ignore"):
                for t in reversed(range(steps)) if backwards else range(steps):
                    new = self.step(x[t], states, weight[d], recurrence[d], bias[d], *(array[d] for array in more))
                    live = mask[t, :, None]
                    states = [np.where(live, *pair) for pair in zip(new, states, strict=True)]
                    y[t, d] = np.where(live, new[0], 0)
            for state, final in zip(last, states, strict=True):
                state[d] = final
        return tuple(result.astype(arrays[0].dtype) for result in (y, *last))


@irdl_op_definition
class LstmOp(RecurrenceOp):
    """A long short-term memory; its gates are i, o, f, c. It also takes peepholes p [D, 3H] (i, o, f).

    Activations are those of the gates i, o and f, of the gate c, and of the new c in h. With `input_forget` f is 1 - i.
    """

    GATES: ClassVar[int] = 4
    ACTIVATIONS: ClassVar[tuple[str, ...]] = ("sigmoid", "tanh", "tanh")

    name = "graph.lstm"

    # xDSL puts a class's own fields before inherited ones: these are all of them, in order.
    x = operand_def()
    weight = operand_def()
    recurrence = operand_def()
    bias = opt_operand_def()
    initial_h = opt_operand_def()
    initial_c = opt_operand_def()
    peephole = opt_operand_def()
    mask = opt_operand_def()
    input_forget = opt_prop_def(UnitAttr)
    y = result_def()
    last_h = result_def()
    last_c = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        x: SSAValue | Operation,
        weight: SSAValue | Operation,
        recurrence: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        initial_h: SSAValue | Operation | None = None,
        initial_c: SSAValue | Operation | None = None,
        peephole: SSAValue | Operation | None = None,
        mask: SSAValue | Operation | None = None,
        *,
        input_forget: bool = False,
        location: LocationAttr | None = None,
        **options: Unpack[CellOptions],
    ):
        operands = (x, weight, recurrence, bias, initial_h, initial_c, peephole, mask)
        self._build_recurrence(operands, options, location, input_forget=input_forget)

    @property
    @override
    def states(self) -> Sequence[SSAValue | None]:
        return [self.initial_h, self.initial_c]

    @override
    def further_operands(self, directions: int, hidden: int) -> dict[str, tuple[SSAValue | None, tuple[int, ...]]]:
        return {"peephole": (self.peephole, (directions, 3 * hidden))}

    @override
    def step(self, x: Array, states: Sequence[Array], w: Array, r: Array, bias: Array, *more: Array) -> list[Array]:
        h, c = states
        p_i, p_o, p_f = np.split(more[0], 3)
        gate, into, out = self.functions
        i, o, f, g = np.split(x @ w.T + h @ r.T + bias.sum(0), 4, 1)
        i = gate(self.clipped(i + p_i * c))
        f = gate(self.clipped(f + p_f * c)) if self.input_forget is None else 1 - i
        c = f * c + i * into(self.clipped(g))
        return [gate(self.clipped(o + p_o * c)) * out(c), c]


@irdl_op_definition
class GruOp(RecurrenceOp):
    """A gated recurrent unit; its gates are z, r, n.

    n = tanh(x w + (r * h) R), or tanh(x w + r * (h R)) with `linear_before_reset`; then h = (1 - z) n + z h.
    Activations are that of z and r, and that of n.
    """

    GATES: ClassVar[int] = 3
    ACTIVATIONS: ClassVar[tuple[str, ...]] = ("sigmoid", "tanh")

    name = "graph.gru"

    linear_before_reset = opt_prop_def(UnitAttr)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        x: SSAValue | Operation,
        weight: SSAValue | Operation,
        recurrence: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        initial_h: SSAValue | Operation | None = None,
        mask: SSAValue | Operation | None = None,
        *,
        linear_before_reset: bool = False,
        location: LocationAttr | None = None,
        **options: Unpack[CellOptions],
    ):
        operands = (x, weight, recurrence, bias, initial_h, mask)
        self._build_recurrence(operands, options, location, linear_before_reset=linear_before_reset)

    @override
    def step(self, x: Array, states: Sequence[Array], w: Array, r: Array, bias: Array, *more: Array) -> list[Array]:
        (h,) = states
        x_z, x_r, x_n = np.split(x @ w.T + bias[0], 3, 1)
        r_z, r_r, r_n = np.split(r, 3)
        b_z, b_r, b_n = np.split(bias[1], 3)
        gate, into = self.functions
        update = gate(self.clipped(x_z + h @ r_z.T + b_z))
        reset = gate(self.clipped(x_r + h @ r_r.T + b_r))
        if self.linear_before_reset is not None:
            new = into(self.clipped(x_n + reset * (h @ r_n.T + b_n)))
        else:
            new = into(self.clipped(x_n + (reset * h) @ r_n.T + b_n))
        return [(1 - update) * new + update * h]


@irdl_op_definition
class RnnOp(RecurrenceOp):
    """The simple recurrent network with one gate: h = activation(x w + h R + biases)."""

    GATES: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[tuple[str, ...]] = ("tanh",)

    name = "graph.rnn"

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        x: SSAValue | Operation,
        weight: SSAValue | Operation,
        recurrence: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        initial_h: SSAValue | Operation | None = None,
        mask: SSAValue | Operation | None = None,
        *,
        location: LocationAttr | None = None,
        **options: Unpack[CellOptions],
    ):
        self._build_recurrence((x, weight, recurrence, bias, initial_h, mask), options, location)

    @override
    def step(self, x: Array, states: Sequence[Array], w: Array, r: Array, bias: Array, *more: Array) -> list[Array]:
        (into,) = self.functions
        return [into(self.clipped(x @ w.T + states[0] @ r.T + bias.sum(0)))]
