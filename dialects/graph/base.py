"""The base class of graph ops: construction, the type rule, the assembly format, and helpers on types and names.

An op declares its operands and attributes, `infer_types` (the type rule, which raises VerifyException with the violated
fact) and `evaluate` (the reference implementation in numpy). The constructor takes result types from the rule, and the
verifier compares the IR with it. `evaluate` computes in the type of the arrays it is given, not in the declared one: a
float32 module evaluated on float64 arrays is the float64 reference. `operand_axes` says how axes of operands map to
those of results (axes.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import ClassVar, Literal, Self, TypeAlias, cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..sizes.sizes import equal, is_fixed, now
from .axes import Axes, Labels, Reduced, Special, Whole, labelled_axes
from .narrow_types import is_narrow
from .values import (
    AnyTensor,
    Array,
    element_type_of_value,
    flag_attr,
    float_attr,
    int_attr,
    ints,
    ints_attr,
    is_bool,
    is_fixed_attr,
    is_float,
    shape_of,
    string_attr,
)


@lru_cache(maxsize=4096)
def named_location(name: str) -> LocationAttr:
    """A location with an ONNX node's name, which an op keeps through all passes."""
    return NameLoc(StringAttr(name), NoneAttr())


def node_name(op: Operation) -> str:
    """The name of the op's ONNX node, or ""."""
    location = op.location
    return location.desc.data if isinstance(location, NameLoc) else ""


def describe(op: Operation) -> str:
    """An op's name in errors: `/layer1/conv2 (graph.conv)`, or `graph.conv` without a node."""
    name = node_name(op)
    return f"{name} ({op.name})" if name else op.name


Code: TypeAlias = Literal["short", "usual", "long"]
Property: TypeAlias = "Attribute | int | float | str | Sequence[int] | None"
"""The value of a property in a constructor: a truth value is a flag (`UnitAttr`, or none), None is left out."""


def _attribute(value: Property) -> Attribute | None:
    """The attribute for a property's value. The order of cases matters: a bool is an int, a text is a sequence."""
    match value:
        case None | Attribute():
            return value
        case bool():
            return flag_attr(value)
        case str():
            return string_attr(value)
        case float():
            return float_attr(value)
        case Sequence():
            return ints_attr(value)
        case _:
            return int_attr(value)


class GraphOp(IRDLOperation, ABC):
    """An operation on tensors: no regions, no effects, result types determined by operands and attributes."""

    FORM: ClassVar[str] = "map"
    """The form of a kernel rooted at this op; `map`: every element of the results is computed by itself."""
    WEIGHTS: ClassVar[tuple[int, ...]] = ()
    """Indices of operands that are packed in front of a kernel, even where they are computed at run time."""
    INSTRUCTIONS: ClassVar[int] = 0
    """Estimated instructions per element of its largest operand or result, besides `products`."""
    LINEAR: ClassVar[bool] = True
    """Whether the time and memory of `evaluate` are linear in the bytes of operands and results."""

    traits = traits_def(Pure())

    PER_AXIS: ClassVar[tuple[str, ...]] = ()
    """Properties with a number, or several, for each axis of the result; "shape" and "stops" are its sizes."""

    def _build(
        self,
        operands: Sequence[SSAValue | Operation | None],
        location: LocationAttr | None,
        result_types: Sequence[Attribute] | None = None,
        /,
        **properties: Property,
    ) -> None:
        """Constructs the op, by default with result types from the type rule. Bypasses IRDL's slower constructor.

        Operands and properties that are None are left out.
        """
        if getattr(self, "irdl_options", ()):
            present = [int(each is not None) for each in operands]
            properties["operandSegmentSizes"] = DenseArrayBase.from_list(i32, present)
        Operation.__init__(
            self,
            operands=[SSAValue.get(operand) for operand in operands if operand is not None],
            properties={name: made for name, value in properties.items() if (made := _attribute(value)) is not None},
            location=location,
        )
        if result_types is None:
            result_types = self.infer_types()
        self.results = SSAValues(OpResult(type, self, index) for index, type in enumerate(result_types))

    @abstractmethod
    def infer_types(self) -> Sequence[AnyTensor]:
        """The result types. Raises VerifyException with the fact that makes the op ill-formed."""

    @abstractmethod
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        """The reference implementation, in the floating type of the operands."""

    def is_cheap(self) -> bool:
        """Whether it may be evaluated at compile time: in linear time, and with sizes known at compile time."""
        fixed = all(is_fixed(*shape_of(result)) for result in self.results)
        return fixed and self.LINEAR and all(map(is_fixed_attr, self.properties.values()))

    @property
    def products(self) -> int:
        """Number of multiply-adds: multiplications whose results are summed."""
        return 0

    @property
    def instructions(self) -> int:
        """Estimated scalar instructions besides `products`."""
        if not self.INSTRUCTIONS:
            return 0
        return self.INSTRUCTIONS * max((prod(shape_of(value)) for value in (*self.operands, *self.results)), default=0)

    def operand_axes(self, result: int = 0) -> Axes:
        """How the axes of each operand map to the axes of a result."""
        return [(Whole(None),) * len(shape_of(operand)) for operand in self.operands]

    def labelled_axes(
        self, labels: Sequence[Labels], to: Labels, special: Special | None = None, *, result: int = 0
    ) -> Axes:
        """`operand_axes` by labels of axes: those of the operands, optional ones last, and the result's."""
        return labelled_axes([*map(shape_of, self.operands)], labels, shape_of(self.results[result]), to, special or {})

    def given_labels(self, **labels: Labels) -> list[Labels]:
        """The labels of the operands that are present, in order and by name."""
        return [each for name, each in labels.items() if getattr(self, name, None) is not None]

    def resized(self, axis: int, size: int) -> dict[str, Attribute]:
        """The properties that change if an axis of the result, and all Kept axes of operands, get another size."""
        names = [name for name in ("shape", "stops") if name in self.PER_AXIS]
        sizes = {name: list(ints(cast("DenseArrayBase[IntegerType]", self.properties[name]))) for name in names}
        return {name: ints_attr([*each[:axis], size, *each[axis + 1 :]]) for name, each in sizes.items()}

    def rowwise_axes(self, whole: Iterable[int]) -> Axes:
        """`operand_axes` of a result with x's axes, some of which are read whole; other operands broadcast."""
        dims = range(len(shape_of(self.results[0])))
        return self.labelled_axes([dims] * len(self.operands), dims, dict.fromkeys(whole, Whole))

    @override
    def verify_(self) -> None:
        expected = self.infer_types()
        for result, type in zip(self.results, expected, strict=True):
            if result.type != type:
                raise VerifyException(f"result is {result.type}, but the op makes {type}")

    @override
    def print(self, printer: Printer) -> None:
        if self.operands:
            printer.print_string(" ")
            printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_op_attributes({**self.properties, **self.attributes})
        printer.print_string(" : ")
        first = self.results[0].type
        if len(self.results) == 1 and all(type == first for type in self.operand_types):
            printer.print_attribute(first)
        else:
            printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> Self:
        position = parser.pos
        unresolved = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
        )
        given = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        names = unresolved or []
        function_type = parser.parse_optional_function_type()
        if function_type is None:
            type = parser.parse_type()
            operand_types, result_types = [type] * len(names), [type]
        else:
            operand_types, result_types = list(function_type.inputs), list(function_type.outputs)
        operands = parser.resolve_operands(names, operand_types, position)
        known = cls.get_irdl_definition().properties
        return cls.create(
            operands=operands,
            result_types=result_types,
            properties={name: value for name, value in given.items() if name in known},
            attributes={name: value for name, value in given.items() if name not in known},
        )


class ElementwiseOp(GraphOp, ABC):
    """Each result element depends on one element of each operand, by numpy broadcasting."""

    INSTRUCTIONS: ClassVar[int] = 1
    CODE: ClassVar[Code] = "usual"
    """The length of an element's code: one or two instructions, several, or a polynomial and more."""

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.rowwise_axes(())


class ContractionOp(GraphOp, ABC):
    """A sum of products: matrix product, convolution."""

    FORM: ClassVar[str] = "contraction"


class ReductionOp(GraphOp, ABC):
    """Each result element depends on a row, a window or an axis of the operand."""

    FORM: ClassVar[str] = "rows"
    INSTRUCTIONS: ClassVar[int] = 1

    @property
    def whole_axes(self) -> Sequence[int]:
        """The axes of the first operand whose elements are combined: those named by `axis`."""
        return (cast("IntegerAttr[IntegerType]", self.properties["axis"]).value.data,)

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        x, shape = shape_of(self.operands[0]), shape_of(self.results[0])
        dims, whole, kind = range(len(x)), self.whole_axes, Whole if x == shape else Reduced
        to = dims if len(x) == len(shape) else [dim for dim in dims if dim not in whole]
        own, *others = self.labelled_axes([dims] * len(self.operands), to)
        return [tuple(kind(axis.to) if dim in whole else axis for dim, axis in enumerate(own)), *others]


class MovementOp(GraphOp, ABC):
    """Result elements are copies of operand elements: an index map, no arithmetic."""


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The numpy broadcast of shapes. Raises VerifyException for incompatible ones."""
    rank = max(map(len, shapes))
    result: list[int] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        if len(sizes) > 1 and not is_fixed(*sizes):
            sizes = {_common(sizes)}
        if len(sizes) > 1:
            texts = " and ".join("x".join(map(str, shape)) or "scalar" for shape in shapes)
            raise VerifyException(f"shapes {texts} don't broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def _common(sizes: Iterable[int]) -> int:
    """The broadcast of symbolic sizes: sizes currently equal or 1 are assumed so, under guards."""
    fixed = [size for size in sizes if is_fixed(size)]
    many = fixed or [size for size in sizes if now(size) != 1] or list(sizes)
    for size in sizes:
        if size is not many[0] and not equal(size, many[0]):
            require(equal(size, 1), f"sizes {size} and {many[0]} don't broadcast")
    return many[0]


def broadcasts_to(shape: Sequence[int], target: Sequence[int]) -> bool:
    """Whether numpy can broadcast `shape` to exactly `target`."""
    leading = len(target) - len(shape)
    pairs = zip(shape, target[max(leading, 0) :], strict=False)
    return leading >= 0 and all(size == 1 or equal(size, wanted) or equal(size, 1) for size, wanted in pairs)


def require(condition: bool, fact: str) -> None:
    """Raises VerifyException with the fact unless the condition holds."""
    if not condition:
        raise VerifyException(fact)


def require_axis(axis: int, rank: int) -> int:
    """Returns `axis`, which must be in [0, rank)."""
    if not 0 <= axis < rank:
        raise VerifyException(f"axis {axis} is outside of a tensor of rank {rank}")
    return axis


def require_number(element_type: Attribute) -> None:
    """Raises VerifyException for element types without arithmetic: booleans and storage-only types."""
    require(not is_bool(element_type), "booleans (i1) are not numbers")
    require_computed(element_type)


def require_computed(element_type: Attribute) -> None:
    """Raises VerifyException for storage-only element types."""
    if is_narrow(element_type):
        raise VerifyException(f"there is no arithmetic on {element_type}, which is for storage: cast it first")


def require_numbers(value: SSAValue) -> None:
    """Raises VerifyException for values of element types without arithmetic."""
    require_number(element_type_of_value(value))


def require_float(value: SSAValue, what: str = "operand") -> None:
    """Raises VerifyException unless the value has a float element type."""
    if not is_float(element_type_of_value(value)):
        raise VerifyException(f"{what} must be of a float type, got {element_type_of_value(value)}")


def require_same_element_type(*values: SSAValue | None) -> None:
    """Raises VerifyException unless the values have one element type; None is skipped."""
    types = [element_type_of_value(value) for value in values if value is not None]
    for type in types:
        if type != types[0]:
            raise VerifyException(f"operands have different element types, {types[0]} and {type}")
