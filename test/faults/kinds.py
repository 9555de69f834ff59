"""Kinds of faults: where in a module's GPU code each could be made, and how it is made there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerAttr, MemRefType, ModuleOp, i1, i32, i64
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from mini_infer.dialects.extensions.arith import CmpiOp
from mini_infer.dialects.gpu.kernels import BarrierOp, FuncOp
from mini_infer.dialects.gpu.mbarriers import (
    BulkCopyOp,
    MBarrierArriveOp,
    MBarrierExpectOp,
    MBarrierFenceOp,
    MBarrierGroupType,
    MBarrierInitOp,
    MBarrierWaitOp,
)
from mini_infer.dialects.gpu.memory_spaces import PRIVATE
from mini_infer.dialects.gpu.nvgpu import AsyncCopyOp, AsyncGroupOp, AsyncWaitOp, LdMatrixOp, MmaOp
from mini_infer.dialects.gpu.shuffle import ShuffleOp
from mini_infer.dialects.gpu.tensor_maps import TensorLoadOp
from mini_infer.dialects.gpu.warpgroup import (
    ProxyFenceOp,
    WarpgroupCommitOp,
    WarpgroupFenceOp,
    WarpgroupMmaOp,
    WarpgroupWaitOp,
)

ACCESSES = (memref.LoadOp, memref.StoreOp, vector.LoadOp, vector.StoreOp)
STORES = (memref.StoreOp, vector.StoreOp)
WIDER = {2: 3, 6: 7, 4: 5, 8: 9}  # cmpi's predicates: "less" becomes "less or equal", "greater" alike


@dataclass(frozen=True)
class Kind:
    """`made` changes one op of those that are `possible`; inside of kernels, or in main."""

    possible: Callable[[Operation], bool]
    make: Callable[[Operation], None]
    in_main: bool = False

    def sites(self, module: ModuleOp) -> Iterator[Operation]:
        """All ops that it could be made at, in order."""
        functions = [op for op in module.walk() if isinstance(op, FuncOp) != self.in_main and op.name.endswith(".func")]
        for function in functions:
            yield from (op for op in function.walk() if self.possible(op))


def _before(op: Operation, made: Operation) -> SSAValue:
    Rewriter.insert_op(made, InsertPoint.before(op))
    return made.results[0]


def _number(op: Operation, value: int, type: Attribute) -> SSAValue:
    return _before(op, arith.ConstantOp(IntegerAttr(value, cast("Any", type))))


def _shifted(op: Operation, operand: int, by: SSAValue, make: Callable[..., Operation] = arith.AddiOp) -> None:
    op.operands[operand] = _before(op, make(op.operands[operand], by))


def _is(*kinds: type[Operation]) -> Callable[[Operation], bool]:
    return lambda op: isinstance(op, kinds)


def _one_more(op: Operation) -> None:
    """The last index."""
    last = next(number for number in reversed(range(len(op.operands))) if op.operands[number].type == IndexType())
    _shifted(op, last, _number(op, 1, IndexType()))


def _indexed(op: Operation) -> bool:
    return isinstance(op, (*ACCESSES, LdMatrixOp)) and op.operands[-1].type == IndexType()


def _wait_less(op: Operation) -> None:
    assert isinstance(op, AsyncWaitOp | WarpgroupWaitOp)
    op.groups = IntegerAttr(op.groups.value.data + 1, i32)


def _other_phase(op: Operation) -> None:
    assert isinstance(op, MBarrierWaitOp)
    op.operands[2] = _before(op, arith.XOrIOp(op.phase, _number(op, 1, i1)))


def _barrier_behind(op: Operation) -> None:
    assert isinstance(op, MBarrierWaitOp | MBarrierArriveOp | MBarrierExpectOp | BulkCopyOp | TensorLoadOp)
    number = list(op.operands).index(op.index)
    behind = _before(op, arith.AddiOp(op.index, _number(op, 1, IndexType())))
    count = cast("MBarrierGroupType", op.barriers.type).num_barriers.data
    op.operands[number] = _before(op, arith.RemUIOp(behind, _number(op, count, IndexType())))


def _at_the_start(op: Operation) -> None:
    """Of the loop's body, behind the wait for the stage."""
    branch = op.parent_op()
    body = branch.parent_block() if isinstance(branch, scf.IfOp) else None
    assert branch is not None and body is not None
    wait = next(each for each in body.ops if isinstance(each, MBarrierWaitOp))
    needed = [each for each in body.ops if each.results and each in _needs(branch)]
    for each in (*needed, branch):
        each.detach()
        Rewriter.insert_op(each, InsertPoint.before(wait))
    wait.detach()
    Rewriter.insert_op(wait, InsertPoint.before(branch))


def _needs(op: Operation) -> set[Operation]:
    """What is computed for an op, and in it, outside of it."""
    found: set[Operation] = set()
    waiting = [value.owner for inner in op.walk() for value in inner.operands]
    while waiting:
        owner = waiting.pop()
        if isinstance(owner, Operation) and owner not in found:
            found.add(owner)
            waiting += [value.owner for value in owner.operands]
    return found


def _next_coordinate(op: Operation) -> None:
    """Along the last dimension."""
    assert isinstance(op, TensorLoadOp)
    _shifted(op, len(op.coordinates), _number(op, 1, IndexType()))


def _more_bytes(op: Operation) -> None:
    _shifted(op, 2, _number(op, 16, IndexType()))


def _next_chunk(op: Operation) -> None:
    """The matrix two chunks further on, or at the start."""
    assert isinstance(op, WarpgroupMmaOp)
    chunks = cast("Any", op.b.type).get_shape()[-3]
    behind = _before(op, arith.AddiOp(op.indices[-3], _number(op, 2, IndexType())))
    op.operands[len(op.operands) - 4] = _before(op, arith.RemUIOp(behind, _number(op, chunks, IndexType())))


def _end(make: Callable[..., Operation]) -> Callable[[Operation], None]:
    def change(op: Operation) -> None:
        assert isinstance(op, scf.ForOp)
        _shifted(op, 1, op.step, make)

    return change


def _swap_lanes(operand: int) -> Callable[[Operation], None]:
    def change(op: Operation) -> None:
        fragment = op.operands[operand]
        lanes = cast("Any", fragment.type).get_shape()[0]
        order = DenseArrayBase.from_list(i64, [1, 0, *range(2, lanes)])
        op.operands[operand] = _before(
            op, vector.ShuffleOp(fragment, fragment, order, result_type=cast("Any", fragment.type))
        )

    return change


def _of_arena(op: Operation) -> bool:
    return isinstance(op, memref.ViewOp) and isinstance(op.source, BlockArgument)


def _move_in_arena(op: Operation) -> None:
    assert isinstance(op, memref.ViewOp)
    place = op.byte_shift.owner
    assert isinstance(place, arith.ConstantOp) and isinstance(place.value, IntegerAttr)
    op.operands[1] = _number(op, place.value.value.data + 256, IndexType())


def _in_private(op: Operation) -> bool:
    return isinstance(op, STORES) and cast("MemRefType[Attribute]", op.operands[1].type).memory_space == PRIVATE


def _starts(op: Operation) -> bool:
    return _in_private(op) and isinstance(op.operands[0].owner, arith.ConstantOp)


def _publishes(op: Operation) -> bool:
    return isinstance(op, STORES) and not _in_private(op)


def _fills_up(op: Operation) -> bool:
    return isinstance(op, AsyncCopyOp) and op.valid is not None


def _copy_whole_only(op: Operation) -> None:
    """What would be filled up stays as it was."""
    assert isinstance(op, AsyncCopyOp) and op.valid is not None
    is_whole = _before(op, CmpiOp(op.valid, _number(op, op.elements.value.data, IndexType()), "eq"))
    whole = AsyncCopyOp(op.source, op.source_indices, op.destination, op.destination_indices, op.elements.value.data)
    Rewriter.replace_op(op, scf.IfOp(is_whole, [], Region(Block([whole, scf.YieldOp()]))), [])


def _guards(op: Operation) -> bool:
    return isinstance(op, scf.IfOp) and not op.results


def _always(op: Operation) -> None:
    op.operands[0] = _number(op, 1, i1)


def _swap(op: Operation) -> None:
    op.operands[0], op.operands[1] = op.operands[1], op.operands[0]


def _other_lane(op: Operation) -> None:
    _shifted(op, 1, _number(op, 31, i32), arith.XOrIOp)


def _narrow(op: Operation) -> bool:
    return isinstance(op, CmpiOp) and op.predicate.value.data in WIDER


def _widen(op: Operation) -> None:
    assert isinstance(op, CmpiOp)
    op.predicate = IntegerAttr(WIDER[op.predicate.value.data], i64)


def _becomes(kind: type[Operation]) -> Callable[[Operation], None]:
    def change(op: Operation) -> None:
        Rewriter.replace_op(op, kind.create(operands=op.operands, result_types=[op.results[0].type]))

    return change


KINDS: dict[str, Kind] = {
    "a barrier is missing": Kind(_is(BarrierOp), Rewriter.erase_op),
    "a wait is for too few copies": Kind(_is(AsyncWaitOp), _wait_less),
    "a group of copies is not closed": Kind(_is(AsyncGroupOp), Rewriter.erase_op),
    "a copy is not filled up with zeros": Kind(_fills_up, _copy_whole_only),
    "a loop ends a step early": Kind(_is(scf.ForOp), _end(arith.SubiOp)),
    "a loop ends a step late": Kind(_is(scf.ForOp), _end(arith.AddiOp)),
    "an index is one too large": Kind(_indexed, _one_more),
    "elements of a left fragment are swapped": Kind(_is(MmaOp), _swap_lanes(0)),
    "elements of a right fragment are swapped": Kind(_is(MmaOp), _swap_lanes(1)),
    "nobody waits for bulk copies": Kind(_is(MBarrierWaitOp), Rewriter.erase_op),
    "a wait is for the other phase": Kind(_is(MBarrierWaitOp), _other_phase),
    "a barrier is another stage's": Kind(
        _is(MBarrierWaitOp, MBarrierArriveOp, MBarrierExpectOp, BulkCopyOp, TensorLoadOp), _barrier_behind
    ),
    "a barrier expects too many bytes": Kind(_is(MBarrierExpectOp), _more_bytes),
    "a barrier is not initialised": Kind(_is(MBarrierInitOp), Rewriter.erase_op),
    "nobody frees a stage": Kind(_is(MBarrierArriveOp), Rewriter.erase_op),
    "a stage is freed too early": Kind(_is(MBarrierArriveOp), _at_the_start),
    "a box begins further on": Kind(_is(TensorLoadOp), _next_coordinate),
    "a fence is missing": Kind(_is(MBarrierFenceOp, ProxyFenceOp, WarpgroupFenceOp), Rewriter.erase_op),
    "a wait is for too few products": Kind(_is(WarpgroupWaitOp), _wait_less),
    "a group of products is not closed": Kind(_is(WarpgroupCommitOp), Rewriter.erase_op),
    "a product reads another chunk": Kind(_is(WarpgroupMmaOp), _next_chunk),
    "elements of a warpgroup's fragment are swapped": Kind(_is(WarpgroupMmaOp), _swap_lanes(0)),
    "a buffer lies further on in the arena": Kind(_of_arena, _move_in_arena, in_main=True),
    "a register is not set at first": Kind(_starts, Rewriter.erase_op),
    "a store is missing": Kind(_publishes, Rewriter.erase_op),
    "a condition is missing": Kind(_guards, _always),
    "a comparison takes in its end": Kind(_narrow, _widen),
    "a difference is the wrong way round": Kind(_is(arith.SubfOp, arith.SubiOp), _swap),
    "a sum is a product": Kind(_is(arith.AddfOp), _becomes(arith.MulfOp)),
    "a maximum is a minimum": Kind(_is(arith.MaximumfOp), _becomes(arith.MinimumfOp)),
    "a value comes from another lane": Kind(_is(ShuffleOp), _other_lane),
}
