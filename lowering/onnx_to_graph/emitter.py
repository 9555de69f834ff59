"""Where import writes: a block, and what is known of its values.

Values that import can compute are never written: an op whose operands are all known and small is
evaluated by its own `evaluate`, so the chains that exporters build from Shape, Gather, Concat and
arithmetic end as constants. A constant or weight enters the block when the first op that stays needs it.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects import tensor as tensor_dialect
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, Signedness, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ...dialects.errors import InvalidInputError
from ...dialects.graph.base import ElementwiseOp, GraphOp, describe
from ...dialects.graph.blobs import BlobStore
from ...dialects.graph.narrow_types import packed, packed_bits
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.conversion import CastOp, UnpackBitsOp
from ...dialects.graph.ops.indexing import IndexedOp
from ...dialects.graph.ops.movement import BroadcastToOp, ReshapeOp
from ...dialects.graph.ops.quantization import DequantizeOp
from ...dialects.graph.ops.size_values import SizesOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import (
    AnyTensor,
    Array,
    element_type_of,
    element_type_of_value,
    numpy_dtype,
    shape_of,
    tensor,
    type_of,
)
from ...dialects.sizes.sizes import is_fixed, now, pinned
from .bounded import BoundError, Bounds, result_bounds
from .size_arithmetic import evaluated_sizes

# Constants up to this many elements are written out in the IR; larger ones are weights.
SMALL_ELEMENTS = 64
BYTE = IntegerType(8, Signedness.UNSIGNED)
UNPACKED_BITS = (4, 2)  # of elements that stay packed in their weights
# Bytes of constants that import itself makes, in all: ranges, positions, what a condition chooses.
MADE_BYTES = 2**30
# Operands and results of an op that is evaluated at import have at most this many elements.
FOLD_ELEMENTS = 1024


def _elements(value: SSAValue) -> int:
    count = 1
    for size in shape_of(value):
        count *= size
    return count


def _read_for(value: SSAValue) -> list[SSAValue]:
    """What was read to make the value: by its op, and inside the regions of it."""
    maker = value.block.parent_op() if isinstance(value, BlockArgument) else value.owner
    return [operand for op in maker.walk() for operand in op.operands] if isinstance(maker, Operation) else []


def _evaluated(op: GraphOp, arrays: Sequence[Array]) -> list[Array]:
    """The op's results; raises VerifyException where its values don't allow them: an index outside, say."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in op.evaluate(*arrays)]
    except (IndexError, InvalidInputError, ValueError, OverflowError) as error:
        raise VerifyException(f"{op.name} can't be computed: {error}") from error


class Emitter:
    """Adds ops to a block, and evaluates those it can."""

    def __init__(self, block: Block, store: BlobStore, inputs: Mapping[SSAValue, str]) -> None:
        self.block = block
        self._top = block
        self._given: dict[Block, Sequence[SSAValue]] = {}
        self._bounds: dict[SSAValue, Bounds] = {}
        self.store = store
        self._inputs = inputs
        self._known: dict[SSAValue, Array] = {}
        self._made = 0  # bytes, of MADE_BYTES

    def known(self, value: SSAValue) -> Array | None:
        """What the value is, or None where it depends on the graph's inputs or on an op that stays."""
        if value in self._known:
            return self._known[value]
        owner = value.owner
        if not isinstance(owner, WeightOp):
            return None
        self._known[value] = self.store.read(owner.blob, type_of(value))
        return self._known[value]

    def inputs_of(self, value: SSAValue) -> tuple[str, ...]:
        """Names of the graph's inputs that the value depends on, in the model's order."""
        return tuple(self._inputs[argument] for argument in self._arguments_of(value))

    def choices_of(self, value: SSAValue) -> tuple[str, ...]:
        """`inputs_of`, where each of these is one integer or truth value; otherwise none."""
        arguments = self._arguments_of(value)
        few = all(_elements(each) == 1 and isinstance(element_type_of_value(each), IntegerType) for each in arguments)
        return self.inputs_of(value) if few else ()

    def _arguments_of(self, value: SSAValue) -> list[SSAValue]:
        """The graph's inputs that the value depends on, in the model's order."""
        seen, pending = set[SSAValue](), [value]
        while pending:
            each = pending.pop()
            if each not in seen:
                seen.add(each)
                pending += self._given.get(each.owner, ()) if isinstance(each.owner, Block) else ()
                pending += _read_for(each)
        return [argument for argument in self._inputs if argument in seen]

    def constant(self, array: Array, location: LocationAttr) -> SSAValue:
        """A value known now: a constant when small, or else a weight."""
        if array.dtype == object:
            return self.sizes(array, i64, location)
        type = tensor(element_type_of(array.dtype), array.shape)
        if array.size <= SMALL_ELEMENTS:
            value = ConstantOp.from_numpy(array, location=location).result
        elif (bits := packed_bits(type.element_type)) in UNPACKED_BITS:
            stored = packed(array, bits)
            value = self.unpack(WeightOp(self.store.add(stored), tensor(BYTE, stored.shape)).result, type, location)
        else:
            value = WeightOp(self.store.add(array), type, location=location).result
        self._known[value] = array
        return value

    def unpack(self, stored: SSAValue, type: AnyTensor, location: LocationAttr) -> SSAValue:
        """Elements of less than 8 bits from the bytes they are packed in."""
        op = UnpackBitsOp(stored, type.element_type, type.get_shape(), location)
        self.place(stored)
        self.block.add_op(op)
        return op.result

    def sizes(self, array: Array, element_type: Attribute, location: LocationAttr) -> SSAValue:
        """Integers of an integer type, in an array of Python objects: some of them may be known at run time only."""
        if is_fixed(*array.flat):
            return self.constant(array.astype(numpy_dtype(element_type)), location)
        op: GraphOp = SizesOp(list(array.flat), location)
        if array.ndim != 1:
            op = ReshapeOp(op, array.shape, location)
        if element_type != i64:
            op = CastOp(op.results[0], element_type, location=location)
        self._known[op.results[0]] = array
        return op.results[0]

    def reserve(self, elements: int) -> bool:
        """Whether import may make a constant of so many integers; a few bytes of a model can ask for any number."""
        self._made += 8 * elements
        return self._made <= MADE_BYTES

    def emit(self, op: GraphOp, location: LocationAttr) -> Sequence[SSAValue]:
        """The op's results: of the op itself, added to the block, or constants where they are known."""
        arrays = self._small_operands(op)
        if arrays is not None and any(array.dtype == object for array in arrays):
            results = evaluated_sizes(op, arrays)
            if results is not None:
                types = [element_type_of_value(result) for result in op.results]
                op.erase()
                return [self.sizes(array, type, location) for array, type in zip(results, types, strict=True)]
        elif arrays is not None:
            values = [self.constant(array, location) for array in _evaluated(op, arrays)]
            op.erase()
            return values
        op.location = location
        self._check_indices(op)
        self._narrow(op, location)
        for operand in op.operands:
            self.place(operand)
        self.block.add_op(op)
        if any(operand in self._bounds for operand in op.operands) and (found := result_bounds(op, self._bounds)):
            self._bounds[op.results[0]] = found
        return op.results

    def _check_indices(self, op: GraphOp) -> None:
        """Raises VerifyException where indices that are known are out of range."""
        known = self.known(op.indices) if isinstance(op, IndexedOp) else None
        if isinstance(op, IndexedOp) and known is not None and known.dtype != object:
            try:
                op.check_indices(known)
            except InvalidInputError as error:
                raise VerifyException(str(error).removeprefix(f"{describe(op)}: ")) from error

    def _narrow(self, op: GraphOp, location: LocationAttr) -> None:
        """Says of operands that are broadcast along a size of run time, which was found to be 1, that it is 1."""
        if not isinstance(op, ElementwiseOp | BroadcastToOp | MatmulOp):
            return
        result = shape_of(op.results[0])
        for index, operand in enumerate(op.operands):
            shape = list(shape_of(operand))
            first = len(result) - len(shape)
            for axis in range(len(shape) - 2 * isinstance(op, MatmulOp)):
                if not is_fixed(shape[axis]) and now(shape[axis]) == 1 and now(result[first + axis]) != 1:
                    shape[axis] = 1
            if tuple(shape) != tuple(shape_of(operand)):
                op.operands[index] = self.emit(ReshapeOp(operand, shape, location), location)[0]

    def now(self, value: SSAValue) -> Array | None:
        """What a value is at present that hangs on sizes only: it is right for these sizes only, which is noted."""
        sizes: set[int] = set()
        found = self._computed(value, sizes)
        if found is not None:
            for size in sizes:
                pinned(size)
        return found

    def _computed(self, value: SSAValue, sizes: set[int]) -> Array | None:
        """The value, and the sizes that it was computed from; None where it hangs on more."""
        known, op = self.known(value), value.owner
        if known is not None:
            dtype = numpy_dtype(element_type_of_value(value))
            if known.dtype != object:
                return known.astype(dtype)
            sizes.update(size for size in known.flat if not is_fixed(size))
            return np.array([now(size) for size in known.flat], dtype).reshape(known.shape)
        if (
            not isinstance(op, GraphOp)
            or not op.is_cheap()
            or any(_elements(each) > FOLD_ELEMENTS for each in op.results)
        ):
            return None
        arrays = [self._computed(operand, sizes) for operand in op.operands]
        operands = [array for array in arrays if array is not None]
        return _evaluated(op, operands)[op.results.index(value)] if len(operands) == len(arrays) else None

    def bound(self, value: SSAValue, axis: int, count: SSAValue) -> None:
        """Says that of a value's elements along an axis only the first `count` are there, an i64 of rank 0."""
        pinned(shape_of(value)[axis])  # how many there may be is a number
        self._bounds[value] = {**self.bounds_of(value), axis: count}

    @property
    def has_bounds(self) -> bool:
        """Whether there is any value of which only a part is there."""
        return bool(self._bounds)

    def bounds_of(self, value: SSAValue) -> Bounds:
        """How much of a value is there: the counts along its bounded axes."""
        return self._bounds.get(value, {})

    def place(self, value: SSAValue) -> None:
        """Adds the constant or weight that makes `value` to the outermost block, if it isn't there yet."""
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is None:
            for operand in owner.operands:
                self.place(operand)
            self._top.add_op(owner)

    @contextmanager
    def inside(self, block: Block, given: Sequence[SSAValue] = ()) -> Generator[None]:
        """Meanwhile ops go to a block of a loop or a branch, whose first turn is `given` these values.

        Where that ends in an exception, what has been written there goes.
        """
        outside, self.block = self.block, block
        self._given[block] = given
        try:
            yield
        except BaseException:
            block.erase(safe_erase=False)
            raise
        finally:
            self.block = outside
            del self._given[block]

    def add(self, op: Operation, location: LocationAttr) -> Sequence[SSAValue]:
        """Adds an op of the host: a loop, a branch, or one on scalars. Raises BoundError."""
        if any(operand in self._bounds for operand in op.operands):
            raise BoundError("a loop or a branch that hands it on")
        op.location = location
        for operand in op.operands:
            self.place(operand)
        self.block.add_op(op)
        return op.results

    def scalar(self, value: SSAValue, location: LocationAttr) -> SSAValue:
        """The one element of a tensor of rank 0 as a number or truth value of the host."""
        known, type = self.known(value), element_type_of_value(value)
        if known is not None:
            return self.add(arith.ConstantOp(IntegerAttr(int(known), cast("IntegerType", type))), location)[0]
        return self.add(tensor_dialect.ExtractOp(value, [], type), location)[0]

    def _small_operands(self, op: GraphOp) -> list[Array] | None:
        """The operands of an op that is to be evaluated now, or None."""
        values = (*op.operands, *op.results)
        # Products of integers are looked for later, and weights stay as small as they are.
        if (
            isinstance(op, DequantizeOp)
            or not all(is_fixed(*shape_of(value)) for value in values)
            or not op.is_cheap()
            or any(_elements(value) > FOLD_ELEMENTS for value in values)
        ):
            return None
        arrays = [self.known(operand) for operand in op.operands]
        known = [array for array in arrays if array is not None]
        return known if len(known) == len(arrays) else None
