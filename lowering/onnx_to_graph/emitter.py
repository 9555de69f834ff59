"""The import's builder: emits ops into a block, and folds values that are known at import.

An op whose operands are all known and small is not emitted but evaluated (`evaluate`), so the chains that exporters
build from Shape, Gather, Concat and arithmetic fold to constants. A constant or weight is inserted into the block when
the first emitted op uses it.
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
from ...dialects.graph.axes import Repeated
from ...dialects.graph.base import GraphOp, describe
from ...dialects.graph.blobs import BlobStore
from ...dialects.graph.narrow_types import packed, packed_bits
from ...dialects.graph.ops.conversion import CastOp, UnpackBitsOp
from ...dialects.graph.ops.indexing import IndexedOp
from ...dialects.graph.ops.movement import ReshapeOp
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

# Constants up to this many elements are printed in the IR; larger ones are weights.
SMALL_ELEMENTS = 64
BYTE = IntegerType(8, Signedness.UNSIGNED)
UNPACKED_BITS = (4, 2)  # number of elements from which on they stay packed in their weights
# Total bytes of constants that the import itself creates: ranges, positions, values selected by a condition.
MADE_BYTES = 2**30
# The largest number of elements of operands and results for evaluation at import.
FOLD_ELEMENTS = 1024


def _elements(value: SSAValue) -> int:
    count = 1
    for size in shape_of(value):
        count *= size
    return count


def _read_for(value: SSAValue) -> list[SSAValue]:
    """The values read by the op that defines a value, including those captured by its regions."""
    maker = value.block.parent_op() if isinstance(value, BlockArgument) else value.owner
    return [operand for op in maker.walk() for operand in op.operands] if isinstance(maker, Operation) else []


def _evaluated(op: GraphOp, arrays: Sequence[Array]) -> list[Array]:
    """The op's results. Raises VerifyException where operand values are invalid, an index out of range for example."""
    try:
        with np.errstate(all="ignore"):
            return [np.asarray(array) for array in op.evaluate(*arrays)]
    except (IndexError, InvalidInputError, ValueError, OverflowError) as error:
        raise VerifyException(f"{op.name} can't be computed: {error}") from error


class Emitter:
    """Emits ops into a block, and evaluates those it can."""

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
        """The value's array if it is known at import, else None."""
        if value in self._known:
            return self._known[value]
        owner = value.owner
        if not isinstance(owner, WeightOp):
            return None
        self._known[value] = self.store.read(owner.blob, type_of(value))
        return self._known[value]

    def is_constant(self, value: SSAValue) -> bool:
        """Whether the value is known at import, or a weight; reads no weight."""
        return value in self._known or isinstance(value.owner, WeightOp)

    def inputs_of(self, value: SSAValue) -> tuple[str, ...]:
        """Names of the graph's inputs that the value depends on, in the model's order."""
        return tuple(self._inputs[argument] for argument in self._arguments_of(value))

    def choices_of(self, value: SSAValue) -> tuple[str, ...]:
        """`inputs_of`, if each of these is one integer or boolean; else ()."""
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
        """A known value: a constant if small, else a weight."""
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
        """Elements of less than 8 bits, unpacked from bytes."""
        op = UnpackBitsOp(stored, type.element_type, type.get_shape(), location)
        self.place(stored)
        self.block.add_op(op)
        return op.result

    def sizes(self, array: Array, element_type: Attribute, location: LocationAttr) -> SSAValue:
        """A constant of integers given as Python objects, some of which may be symbolic sizes."""
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
        """Whether the import may create so many integers as a constant; a tiny model can ask for any number."""
        self._made += 8 * elements
        return self._made <= MADE_BYTES

    def emit(self, op: GraphOp, location: LocationAttr) -> Sequence[SSAValue]:
        """Emits an op and returns its results, or constants if they are known."""
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
        """Raises VerifyException for known indices that are out of range."""
        known = self.known(op.indices) if isinstance(op, IndexedOp) else None
        if isinstance(op, IndexedOp) and known is not None and known.dtype != object:
            try:
                op.check_indices(known)
            except InvalidInputError as error:
                raise VerifyException(str(error).removeprefix(f"{describe(op)}: ")) from error

    def _narrow(self, op: GraphOp, location: LocationAttr) -> None:
        """Casts operands broadcast along a symbolic dimension that was found to be 1."""
        if all(is_fixed(*shape_of(operand)) for operand in op.operands):
            return
        for index, (operand, axes) in enumerate(zip(op.operands, op.operand_axes(), strict=True)):
            sizes = zip(shape_of(operand), axes, strict=True)
            shape = tuple(1 if isinstance(axis, Repeated) else size for size, axis in sizes)
            if shape != shape_of(operand):
                op.operands[index] = self.emit(ReshapeOp(operand, shape, location), location)[0]

    def now(self, value: SSAValue) -> Array | None:
        """The current value of a value that depends on sizes only, under a guard that these sizes stay."""
        sizes: set[int] = set()
        found = self._computed(value, sizes, {})
        if found is not None:
            for size in sizes:
                pinned(size)
        return found

    def _computed(self, value: SSAValue, sizes: set[int], done: dict[SSAValue, Array | None]) -> Array | None:
        """The value, and the sizes it was computed from; None if it depends on anything else.

        Each value is computed once: by the paths through a graph there are exponentially many.
        """
        if value not in done:
            done[value] = self._computed_anew(value, sizes, done)
        return done[value]

    def _computed_anew(self, value: SSAValue, sizes: set[int], done: dict[SSAValue, Array | None]) -> Array | None:
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
        operands: list[Array] = []
        for operand in op.operands:
            array = self._computed(operand, sizes, done)
            if array is None:
                return None
            operands.append(array)
        return _evaluated(op, operands)[op.results.index(value)]

    def bound(self, value: SSAValue, axis: int, count: SSAValue) -> None:
        """Records that only the first `count` (an i64 of rank 0) elements of a value along an axis are valid."""
        pinned(shape_of(value)[axis])  # an upper bound on the count is a plain number
        self._bounds[value] = {**self.bounds_of(value), axis: count}

    @property
    def has_bounds(self) -> bool:
        """Whether any value is bounded."""
        return bool(self._bounds)

    def bounds_of(self, value: SSAValue) -> Bounds:
        """The counts of valid elements along a value's bounded axes."""
        return self._bounds.get(value, {})

    def place(self, value: SSAValue) -> None:
        """Inserts the constant or weight that defines `value` into the outermost block, once."""
        owner = value.owner
        if isinstance(owner, Operation) and owner.parent is None:
            for operand in owner.operands:
                self.place(operand)
            self._top.add_op(owner)

    @contextmanager
    def inside(self, block: Block, given: Sequence[SSAValue] = ()) -> Generator[None]:
        """A context in which ops go to a block of a loop or a branch; `given` are the values of its first iteration.

        If it ends in an exception, the ops emitted inside are erased.
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
        """Emits a host op: a loop, a branch, or scalar arithmetic. Raises BoundError."""
        if any(operand in self._bounds for operand in op.operands):
            raise BoundError("a loop or a branch that hands it on")
        op.location = location
        for operand in op.operands:
            self.place(operand)
        self.block.add_op(op)
        return op.results

    def scalar(self, value: SSAValue, location: LocationAttr) -> SSAValue:
        """The element of a rank-0 tensor as a host scalar."""
        known, type = self.known(value), element_type_of_value(value)
        if known is not None:
            return self.add(arith.ConstantOp(IntegerAttr(int(known), cast("IntegerType", type))), location)[0]
        return self.add(tensor_dialect.ExtractOp(value, [], type), location)[0]

    def _small_operands(self, op: GraphOp) -> list[Array] | None:
        """The operands' arrays if the op is to be evaluated at import, else None."""
        values = (*op.operands, *op.results)
        # Products of integers are matched later, and weights are kept as small as they are.
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
