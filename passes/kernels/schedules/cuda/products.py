"""Shared parts of the product schedules: supported kernels, interfaces, and the cost model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, prod

from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from .....dialects.gpu.cluster import MOST_BLOCKS_OF_A_CLUSTER
from .....dialects.gpu.kernels import MOST_BLOCKS
from .....dialects.graph.ops.block_weight import BlockWeightOp
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp, is_byte
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.packing.packings import FilterPacking, MatrixPacking, Packing
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of
from ....geometry.strided_views import strided_view
from ...element_flow import same_place_pairs
from ...forms.contraction import ContractionForm, contraction_form
from ...forms.product import product_shape, reads_windows
from ...kernel_facts import argument_index, constant_operands, item_bytes, plain_operands
from ..scratch import ScratchLayout
from .cost import bytes_of, memory_seconds
from .tuning import (
    CLUSTER_MEETING,
    CLUSTER_NEIGHBOURS,
    CLUSTER_READS,
    LATENCY,
    LAUNCH,
    PRODUCTS_ADDING,
    PRODUCTS_CACHE_SPEED,
    PRODUCTS_LEAST_STEPS,
    PRODUCTS_MOST_SPLITS,
    PRODUCTS_MOST_WAVES,
    PRODUCTS_STEP,
    PRODUCTS_STORED,
)

PARTIALS = "partials"
"""The part of the scratch with sums over parts of the depth: [split][batch][row][column]."""

SUMS_PAD = 8
"""Padding of the lines of a cluster's tiles of sums, in elements: the lines that a warp stores to together start in
different banks."""

_, _, MOST_ALONG_Z = MOST_BLOCKS
MOST_NUMBERS = 2**31
"""Numbers of a block-quantised matrix, whose places are indices of 32 bits."""


def code_for(
    kernel: KernelOp, *, of_bytes: bool = False, of_blocks: bool = False, of_norms: bool = False
) -> ContractionForm | None:
    """The form of a supported kernel; None for others.

    Supported are floats of at most 32 bits, or products `of_bytes`, operands that are windows on arguments,
    channels-last convolutions of rank 1 or 2; with `of_blocks` right-hand sides that are block-quantised, too, and with
    `of_norms` rows that are normalised or widened when they are read, or whose moments are a result.
    """
    form = contraction_form(kernel)
    root, values = form.root, (*form.root.operands, *form.root.results)
    results = 1 if form.moments is None else 2
    prologue = form.prologue and form.rows is form.lhs
    if prologue or form.halves or form.pool is not None or len(kernel.terminator.operands) != results:
        return None
    if not of_norms and (form.prologue or form.normalised or form.normalises or form.moments):
        return None
    if any(0 in shape_of(value) for value in values):
        return None
    if multiplies_bytes(form):
        if not of_bytes:
            return None
    elif not all(
        isinstance(type := element_type_of_value(value), Float16Type | BFloat16Type) or type == f32 for value in values
    ):
        return None
    if isinstance(root, ConvOp) and (root.layout.data != "NHWC" or len(shape_of(root.result)) not in (3, 4)):
        return None
    if form.blocks is not None:
        arguments: set[SSAValue] = set(kernel.arguments)
        return form if of_blocks and takes_blocks(root) and strided_view(form.lhs).base in arguments else None
    return form if reads_windows(kernel, replace(form, lhs=form.rows)) else None


def runs_along_depth(form: ContractionForm) -> bool:
    """Whether the right-hand side is contiguous along the depth."""
    if not isinstance(form.root, MatmulOp):
        return False
    strides = strided_view(form.root.rhs).strides
    column, depth = (strides[-2], strides[-1]) if form.root.transpose_b is not None else (strides[-1], strides[-2])
    return depth == 1 and column != 1


WORD = 4
"""Bytes of a block-quantised matrix that a thread reads and dequantises at a time."""


def takes_blocks(root: Operation) -> bool:
    """Whether a product's right-hand side is a block-quantised matrix that its code can dequantise.

    Words of it lie within one block and within the depth.
    """
    if not isinstance(root, MatmulOp) or root.transpose_b is None or not isinstance(root.rhs.owner, BlockWeightOp):
        return False
    bits, block, depth, _ = root.rhs.owner.numbers
    words = block * bits % (8 * WORD) == 0 and depth * bits % (8 * WORD) == 0
    return words and prod(shape_of(root.rhs.owner.weight)) * 8 // bits < MOST_NUMBERS


def multiplies_bytes(form: ContractionForm) -> bool:
    """Whether products are of integers of 8 bits; sums are i32 then."""
    return all(is_byte(element_type_of_value(value)) for value in form.root.operands[:2])


def sums_of(form: ContractionForm) -> Attribute:
    """The type in which products are added up."""
    return i32 if multiplies_bytes(form) else f32


def lies_along_depth(form: ContractionForm) -> bool:
    """Whether the left-hand side is contiguous along the depth."""
    root = form.root
    return isinstance(root, ConvOp) or strided_view(form.rows).strides[-2 if root.transpose_a is not None else -1] == 1


ROUNDED = {"tf32": "tf32", "fp16": "f16", "bf16": "bf16"}
"""How a RoundedPacking rounds, by precision; 3xtf32 needs all bits."""


def rounding_of(kernel: KernelOp, target: GpuAttr) -> str:
    """How a constant right-hand side of f32 is rounded when it is packed, as the precision says; "" if it isn't."""
    rhs = contraction_form(kernel).rhs
    is_packed = is_constant_matrix(kernel) and element_type_of_value(rhs) == f32
    return ROUNDED.get(target.precision.data, "") if is_packed else ""


def is_constant_matrix(kernel: KernelOp) -> bool:
    """Whether the right-hand side is a weight that nothing else of the kernel reads, and can be packed."""
    rhs = contraction_form(kernel).rhs
    return any(kernel.arguments[each] is rhs for each in constant_operands(kernel)) and rhs.has_one_use()


def interface_of(kernel: KernelOp, *, transposed: bool = False, rounding: str = "", scratch: int = 0) -> InterfaceAttr:
    """Filters as matrices of depth by columns, or `transposed`; all other operands with any strides.

    Another constant right-hand side is packed where it is to be transposed, or rounded: as `rounding_of` says.
    """
    form = contraction_form(kernel)
    packed: dict[int, Packing] = {}
    flags = {rounding: True} if rounding else {}
    if isinstance(form.root, ConvOp):
        position = argument_index(kernel, form.rhs)
        packed[position] = FilterPacking(form.root.groups.value.data, transposed, **flags)
    elif is_constant_matrix(kernel) and (rounding or transposed):
        packed[argument_index(kernel, form.rhs)] = MatrixPacking(transposed, **flags)
    readers = [form.root, *form.epilogue]
    return InterfaceAttr.of(
        strided_operands=[each for each in plain_operands(kernel, readers) if each not in packed],
        strided_results=[0],
        inplace=same_place_pairs(kernel),
        packed=packed,
        scratch=scratch,
    )


def partial_sums(kernel: KernelOp, splits: int, cluster: bool) -> ScratchLayout:
    """Scratch for the sums over each part of the depth, which a cluster has no need of."""
    if splits == 1 or cluster:
        return ScratchLayout()
    form = contraction_form(kernel)
    shape = product_shape(form.root)
    return ScratchLayout.of(shared=[(PARTIALS, sums_of(form), (splits, shape.batch, shape.rows, shape.columns))])


@dataclass(frozen=True)
class Tiled:
    """A tiled product: the number of tiles, and the resources of one."""

    bm: int
    bn: int
    bk: int
    splits: int
    cluster: bool
    """Whether the blocks of a tile's parts are a cluster."""
    threads: int
    registers: int
    """Expected 32-bit registers of a thread."""
    stages: int
    """Bytes of shared memory of a block for its operands' tiles."""
    gflops: float
    """Operations of products per nanosecond that the whole device reaches."""
    reads: float = 0
    """Nanoseconds in which a block reads its operands of one step from shared memory, where that is not hidden."""
    left_bytes: int = 4
    right_bytes: float = 4
    """Bytes of a number of each operand in memory."""
    latency: float | None = None
    """Seconds of latency in each step along the depth; PRODUCTS_STEP."""
    norms: float = 0
    """Seconds for the statistics of rows that are normalised, and for moments."""

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a block: a cluster's tile of sums takes the place of the operands'."""
        return max(self.stages, self.bm * (self.bn + SUMS_PAD) * 4) if self.cluster else self.stages

    def resident(self, target: GpuAttr) -> int:
        """Resident blocks of a multiprocessor; 0: none fits."""
        by_registers = target.registers.data // (self.threads * self.registers)
        by_shared = target.shared.data // max(1, self.shared)
        return min(GpuAttr.THREADS // self.threads, by_registers, by_shared)

    def seconds(self, kernel: KernelOp, target: GpuAttr) -> float:
        """The time of the busiest multiprocessor, at least that of all copies and of the kernel's bytes.

        Resident blocks share a multiprocessor's units; what each step waits for, they wait for together.
        """
        shape = product_shape(contraction_form(kernel).root)
        machines = target.multiprocessors.data
        blocks = ceil(shape.rows / self.bm) * ceil(shape.columns / self.bn) * shape.batch * self.splits
        steps = ceil(ceil(shape.depth / self.splits) / self.bk)
        most = ceil(blocks / (machines * self._reached(target)))
        together = min(self.resident(target), most)
        products = 2 * self.bm * self.bn * self.bk / (self.gflops / machines) * 1e-9
        step = (products + self.reads * 1e-9) * together + (PRODUCTS_STEP if self.latency is None else self.latency)
        work = most / together * steps * step + most * self._storing()
        copied = blocks * steps * (self.bm * self.left_bytes + self.bn * self.right_bytes) * self.bk
        time = max(
            work,
            memory_seconds(copied / PRODUCTS_CACHE_SPEED, target),
            memory_seconds(packed_bytes_of(kernel, self.right_bytes), target),
        )
        return LAUNCH + LATENCY + self.norms + time + self._adding(shape.batch * shape.rows * shape.columns * 4, target)

    def _reached(self, target: GpuAttr) -> float:
        """The share of the multiprocessors that blocks can be on: a cluster's must be neighbours."""
        if not self.cluster:
            return 1
        held = CLUSTER_NEIGHBOURS * self.resident(target)
        return held // self.splits * self.splits / held

    def _storing(self) -> float:
        """Seconds in which a block stores its tile, or reads and stores its share of a cluster's."""
        nbytes = self.bm * self.bn * 4
        if self.cluster:
            return (nbytes / CLUSTER_READS + nbytes / self.splits / PRODUCTS_STORED) * 1e-9
        return nbytes / PRODUCTS_STORED * 1e-9

    def _adding(self, nbytes: int, target: GpuAttr) -> float:
        """Seconds of writing the partial sums and adding them up, or of a cluster's barriers."""
        if self.splits == 1:
            return 0.0
        if self.cluster:
            return 2 * CLUSTER_MEETING
        return PRODUCTS_ADDING + memory_seconds(2 * self.splits * nbytes / PRODUCTS_CACHE_SPEED, target)


def packed_bytes_of(kernel: KernelOp, right_bytes: float) -> float:
    """Bytes that a kernel must read and write, if numbers of its right-hand side are kept in so many."""
    form = contraction_form(kernel)
    shape = product_shape(form.root)
    saved = bytes_of_right(form) - right_bytes
    return bytes_of(kernel) - saved * shape.batch * shape.columns * shape.depth


def splits_for(kernel: KernelOp, bm: int, bn: int, bk: int, target: GpuAttr) -> list[tuple[int, bool]]:
    """Split-K factors: those for which the blocks fill all multiprocessors once, twice, ... Each also in clusters.

    Each part has several steps, and all but the last have one length. Clusters are of as many parts as one may have.
    """
    shape = product_shape(contraction_form(kernel).root)
    tiles = ceil(shape.rows / bm) * ceil(shape.columns / bn) * shape.batch
    steps = ceil(shape.depth / bk)
    found = {(1, False)}
    for waves in range(1, PRODUCTS_MOST_WAVES + 1):
        splits = min(waves * target.multiprocessors.data // tiles, steps // PRODUCTS_LEAST_STEPS, PRODUCTS_MOST_SPLITS)
        if splits > 1 and bounds_of(shape.batch)[1] * splits <= MOST_ALONG_Z:
            found.add((ceil(steps / ceil(steps / splits)), False))
        if splits > 1 and target.has_clusters:
            found.add((ceil(steps / ceil(steps / min(splits, MOST_BLOCKS_OF_A_CLUSTER))), True))
    return sorted(found)


def bytes_of_right(form: ContractionForm) -> float:
    """Bytes of a number of the right-hand side in memory."""
    return item_bytes(form.rhs) if form.blocks is None else form.blocks.bits.value.data / 8
