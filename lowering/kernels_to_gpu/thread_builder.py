"""ThreadBuilder: builds the code of one thread of a grid; see dialects/gpu for the operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import MemRefType, UnitAttr, f64, i32, i64
from xdsl.dialects.gpu import DimensionAttr, DimensionEnum
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.extensions.arith import ExtUIOp, TruncIOp
from ...dialects.extensions.replace import scalar_of
from ...dialects.gpu.cluster import ClusterBarrierOp, ClusterLoadOp
from ...dialects.gpu.grid_barrier import GridBarrierOp
from ...dialects.gpu.kernels import BarrierOp, BlockIdOp, ThreadIdOp
from ...dialects.gpu.mbarriers import (
    BulkCopyOp,
    MBarrierArriveOp,
    MBarrierCreateOp,
    MBarrierExpectOp,
    MBarrierFenceOp,
    MBarrierInitOp,
    MBarrierWaitOp,
)
from ...dialects.gpu.memory_spaces import PRIVATE, WORKGROUP, DynamicSharedMemoryOp
from ...dialects.gpu.nvgpu import AsyncCopyOp, AsyncGroupOp, AsyncWaitOp, LdMatrixOp, MmaOp, RoundToTf32Op
from ...dialects.gpu.shuffle import ShuffleOp
from ...dialects.gpu.tensor_maps import TensorLoadOp, TensorMapOp, TensorMapType
from ...dialects.gpu.warpgroup import (
    ProxyFenceOp,
    SetMaxRegisterOp,
    WarpgroupCommitOp,
    WarpgroupFenceOp,
    WarpgroupMmaOp,
    WarpgroupWaitOp,
)
from ...dialects.graph.values import numpy_dtype
from ...dialects.kernel.targets import GpuAttr
from ...dialects.sizes.sizes import pinned
from ..kernel_code.arithmetic import Arithmetic
from ..kernel_code.loop_builder import Index, LoopBuilder, memref_type, vector_of

UNROLL = "unroll"
"""On a loop: the CUDA compiler is to unroll it, so that private arrays become registers."""

WARP = GpuAttr.WARP  # lanes, which run in lockstep and can exchange values
ACCESS = GpuAttr.ACCESS  # bytes, also the alignment of shared arrays

ASLEEP = 10_000_000
"""Nanoseconds that a thread may sleep while it waits for a phase; it is woken when the phase is complete."""

_DIMENSIONS = tuple(DimensionAttr(each) for each in (DimensionEnum.X, DimensionEnum.Y, DimensionEnum.Z))


class ThreadBuilder(LoopBuilder):
    """A LoopBuilder with shared memory, private arrays and cooperative operations of warps and blocks.

    `shared_bytes` is the amount of shared memory allocated so far.
    """

    def __init__(self, block: Block) -> None:
        super().__init__(block)
        self.shared_bytes = 0
        self._kept_bytes = 0
        self._shared: SSAValue | None = None

    def do(self, op: Operation) -> None:
        """Appends an op without results."""
        self._at.add_op(op)

    # who this is

    def thread_id(self, dimension: int = 0) -> SSAValue:
        """The thread's index in its block along x, y or z."""
        return self.insert(ThreadIdOp(_DIMENSIONS[dimension]))

    def block_id(self, dimension: int = 0) -> SSAValue:
        """The block's index in the grid along x, y or z."""
        return self.insert(BlockIdOp(_DIMENSIONS[dimension]))

    def named(self, value: Index, name: str) -> Index:
        """The same value with a name hint."""
        if isinstance(value, SSAValue) and value.name_hint is None:
            value.name_hint = name
        return value

    # memory

    def shared(
        self,
        element: Attribute,
        shape: Sequence[int],
        name: str | None = None,
        *,
        over: bool = False,
        kept: bool = False,
        alignment: int = ACCESS,
    ) -> SSAValue:
        """A dense array in the block's shared memory, aligned to so many bytes; undefined at first.

        `over` earlier arrays, which are used no more, or behind them. Those that are `kept` come before all others, and
        no array is over them.
        """
        if self._shared is None:
            self._shared = self.insert(DynamicSharedMemoryOp())
        start = -(-(self._kept_bytes if over else self.shared_bytes) // alignment) * alignment
        self.shared_bytes = max(self.shared_bytes, start + prod(shape) * numpy_dtype(element).itemsize)
        if kept:
            assert self._kept_bytes == start or self._kept_bytes == self.shared_bytes == 0
            self._kept_bytes = self.shared_bytes
        type = MemRefType(element, shape, memory_space=WORKGROUP)
        array = self.insert(memref.ViewOp(self._shared, self.index(start), [], type))
        array.name_hint = name
        return array

    def private(self, element: Attribute, shape: Sequence[int], name: str | None = None) -> SSAValue:
        """A thread-local array of scalars or vectors; undefined at first.

        It lies in registers if every index is constant after unrolling: code is for one shape of it.
        """
        array = self.insert(memref.AllocaOp.get(element, shape=[*map(pinned, shape)], memory_space=PRIVATE))
        array.name_hint = name
        return array

    # control flow

    def unrolled(self, count: int, body: Callable[[Index], None]) -> None:
        """body(i) for i in [0, count), with full unrolling by the CUDA compiler."""

        def run(i: Index, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(i)
            return ()

        self.folded(count, (), run)

    def folded(
        self,
        count: int,
        start: Sequence[SSAValue],
        body: Callable[[Index, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> Sequence[SSAValue]:
        """carried = body(i, carried) for i in [0, count), unrolled by the CUDA compiler; returns the final ones."""
        results = self.loop(0, count, body, carried=start)
        if count > 1:
            loop = self._at.last_op
            assert isinstance(loop, scf.ForOp)
            loop.attributes[UNROLL] = UnitAttr()
        return results

    def where(self, condition: SSAValue | None, body: Callable[[], None]) -> None:
        """body() if the condition holds (None: always)."""
        if condition is None:
            body()
        else:
            self.when(condition, body)

    def extract(self, value: SSAValue, lane: int) -> SSAValue:
        """One lane of a vector."""
        return self.make(_extract, value, extra=(lane,))

    def inserted(self, number: SSAValue, into: SSAValue, lane: int) -> SSAValue:
        """A vector with one lane replaced."""
        return self.make(_insert, number, into, extra=(lane,))

    def barrier(self) -> None:
        """Waits for all threads of the block and makes their writes visible to each other."""
        self.do(BarrierOp())

    def cluster_barrier(self) -> None:
        """The same for all threads of the block's cluster."""
        self.do(ClusterBarrierOp())

    def grid_barrier(self, counter: SSAValue) -> None:
        """The same for all threads of a cooperative launch, of what is in global memory; see GridBarrierOp."""
        self.do(GridBarrierOp(counter))

    def load_of_block(self, rank: Index, buffer: SSAValue, at: Sequence[Index], lanes: int) -> SSAValue:
        """An element, or `lanes` adjacent ones, of a shared array of another block of the cluster."""
        element = memref_type(buffer).element_type
        type = element if lanes == 1 else vector_of(element, lanes)
        return self.insert(ClusterLoadOp(buffer, [self.index(i) for i in at], self.index(rank), type))

    # warps

    def from_lane(self, value: SSAValue, offset: Index, mode: str = "xor", width: int = WARP) -> SSAValue:
        """The value of another lane of the warp, in groups of `width`; see ShuffleOp. All lanes take part."""
        by = self.constant(offset, i32) if isinstance(offset, int) else offset
        if value.type != f64:
            return self.insert(ShuffleOp(mode, value, by, self.constant(width, i32)))
        bits, half = self.insert(arith.BitcastOp(value, i64)), self.constant(32, i64)
        low = self.from_lane(self.insert(TruncIOp(bits, i32)), by, mode, width)
        high = self.from_lane(self.insert(TruncIOp(self.insert(arith.ShRUIOp(bits, half)), i32)), by, mode, width)
        high = self.insert(arith.ShLIOp(self.insert(ExtUIOp(high, i64)), half))
        return self.insert(arith.BitcastOp(self.insert(arith.OrIOp(high, self.insert(ExtUIOp(low, i64)))), f64))

    def ldmatrix(self, source: SSAValue, at: Sequence[Index], tiles: int, *, transpose: bool = False) -> SSAValue:
        """The lane's part of 8 x 8 matrices in shared memory, one row of which each lane points to; see LdMatrixOp."""
        return self.insert(LdMatrixOp(source, [self.index(i) for i in at], tiles, transpose=transpose))

    def mma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """a b + c of warp-level matrix fragments; see MmaOp."""
        return self.insert(MmaOp(a, b, c))

    def mma_of_parts(self, a: tuple[SSAValue, SSAValue], b: tuple[SSAValue, SSAValue], c: SSAValue) -> SSAValue:
        """a b + c of fragments given as rounded numbers and rounding errors (3xtf32), without the errors' product.

        Tensor cores round sums toward zero, so theirs starts from zero, the small products first, and is added to c by
        an addition that rounds to the nearest.
        """
        (large, small), (wide, rest) = a, b
        own = self.mma(small, wide, self.constant(0.0, c.type))
        own = self.mma(large, wide, self.mma(large, rest, own))
        return Arithmetic(self, c.type).add(c, own)

    def to_tf32(self, value: SSAValue) -> SSAValue:
        """Rounds f32 to tf32, the part of it that tensor cores read."""
        return self.insert(RoundToTf32Op(value))

    # asynchronous copies

    def copy_async(
        self,
        source: SSAValue,
        at: Sequence[Index],
        destination: SSAValue,
        to: Sequence[Index],
        elements: int,
        valid: Index | None = None,
    ) -> None:
        """Starts copying adjacent elements from global to shared memory; those from `valid` on become zeros."""
        only = None if valid is None or valid == elements else self.index(valid)
        places = [self.index(i) for i in at], [self.index(i) for i in to]
        self.do(AsyncCopyOp(source, places[0], destination, places[1], elements, only))

    def close_group(self) -> None:
        """Closes the group of copies started since the last one."""
        self.do(AsyncGroupOp())

    def wait_groups(self, pending: int) -> None:
        """Waits until at most `pending` of this thread's groups are in flight."""
        self.do(AsyncWaitOp(pending))

    # barriers that count bytes, and products by warpgroups

    def mbarriers(self, count: int, name: str) -> SSAValue:
        """Barriers of the block, see mbarriers.py."""
        made = self.insert(MBarrierCreateOp(count))
        made.name_hint = name
        return made

    def mbarrier_init(self, barriers: SSAValue, number: Index, arrivals: int) -> None:
        """Initialises a barrier; by one thread."""
        self.do(MBarrierInitOp(barriers, self.index(number), self.index(arrivals)))

    def mbarrier_fence(self) -> None:
        """Makes initialised barriers visible to bulk copies."""
        self.do(MBarrierFenceOp())

    def mbarrier_expect(self, barriers: SSAValue, number: Index, nbytes: int) -> None:
        """Arrives at a barrier, whose phase then waits for so many bytes, too."""
        self.do(MBarrierExpectOp(barriers, self.index(number), self.index(nbytes)))

    def mbarrier_arrive(self, barriers: SSAValue, number: Index) -> None:
        """Arrives at a barrier; each thread that executes it does."""
        self.do(MBarrierArriveOp(barriers, self.index(number)))

    def mbarrier_wait(self, barriers: SSAValue, number: Index, parity: SSAValue) -> None:
        """Waits for the phase of a parity."""
        self.do(MBarrierWaitOp(barriers, self.index(number), parity, self.index(ASLEEP)))

    def copy_bulk(
        self,
        source: SSAValue,
        at: Sequence[Index],
        destination: SSAValue,
        to: Sequence[Index],
        barriers: SSAValue,
        number: Index,
        elements: int,
    ) -> None:
        """Starts copying contiguous elements from global to shared memory, which a barrier counts; by one thread."""
        places = [self.index(i) for i in at], [self.index(i) for i in to]
        self.do(BulkCopyOp(source, places[0], destination, places[1], barriers, self.index(number), elements))

    def proxy_fence(self) -> None:
        """Shows what this thread has stored in shared memory to products by warpgroups, behind a barrier."""
        self.do(ProxyFenceOp())

    def tensor_map(self, tensor: SSAValue, box: Sequence[int], swizzle: int, name: str) -> SSAValue:
        """A map of a tensor in an argument of the kernel, of which boxes are copied; see TensorMapOp."""
        made = self.insert(TensorMapOp(tensor, TensorMapType.of(memref_type(tensor).element_type, box, swizzle)))
        made.name_hint = name
        return made

    def copy_box(
        self,
        map: SSAValue,
        at: Sequence[Index],
        destination: SSAValue,
        to: Sequence[Index],
        barriers: SSAValue,
        number: Index,
    ) -> None:
        """Starts copying a box of a tensor to shared memory, which a barrier counts; by one thread."""
        places = [self.index(i) for i in at], [self.index(i) for i in to]
        self.do(TensorLoadOp(map, places[0], barriers, self.index(number), destination, places[1]))

    def set_registers(self, action: str, count: int) -> None:
        """Changes the number of the warpgroup's registers; see SetMaxRegisterOp."""
        self.do(SetMaxRegisterOp(action, count))

    def warpgroup_fence(self) -> None:
        """Orders accesses of registers before products by warpgroups."""
        self.do(WarpgroupFenceOp())

    def warpgroup_mma(self, a: SSAValue, b: SSAValue, at: Sequence[Index], sums: SSAValue) -> None:
        """Starts sums += a b; see WarpgroupMmaOp."""
        self.do(WarpgroupMmaOp(a, b, [self.index(i) for i in at], sums))

    def warpgroup_commit(self) -> None:
        """Closes the group of products started since the last one."""
        self.do(WarpgroupCommitOp())

    def warpgroup_wait(self, pending: int, *behind: SSAValue) -> None:
        """Waits until at most `pending` of this warpgroup's groups are in flight, once arrays are computed."""
        self.do(WarpgroupWaitOp(pending, behind))


def _extract(value: SSAValue, lane: int) -> Operation:
    return vector.ExtractOp(value, [lane], scalar_of(value.type))


def _insert(number: SSAValue, into: SSAValue, lane: int) -> Operation:
    return vector.InsertOp(number, into, [lane])
