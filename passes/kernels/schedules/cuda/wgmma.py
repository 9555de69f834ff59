"""The wgmma schedule: products by warpgroups on Hopper's tensor cores, with weights that are packed for them.

A block has a warpgroup of 128 threads for each 64 rows, and bn columns. Weights are rounded and packed into the tiles
that tensor cores read from shared memory, so that one thread copies a tile by one instruction; the rows come by
asynchronous copies, and are rounded on their way to registers, from where tensor cores take them. Sums are f32. As
`3xtf32`, numbers are split in two of tf32, weights when they are packed, and all products but the smallest are summed
up; as tensor cores cut sums off, those of a tile of the depth begin with the small ones, and are added to the others by
an addition that rounds to the nearest.

Only for sm_90a, whose instructions no other architecture has, and for weights of f32 or of what numbers are rounded to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import ceil
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute

from .....dialects.gpu.mbarriers import UNIT
from .....dialects.gpu.tensor_maps import SWIZZLES, alignment_of
from .....dialects.gpu.warpgroup import ROWS, WARPGROUP
from .....dialects.graph.base import ElementwiseOp
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp
from .....dialects.graph.ops.structure import ConstantOp, KernelOp, WeightOp
from .....dialects.graph.packing.core_matrices import CoreMatrixPacking
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of, is_fixed
from ...element_flow import same_place_pairs
from ...forms.contraction import ContractionForm, contraction_form, conv_geometry
from ...forms.product import product_shape
from ...kernel_facts import argument_index, constant_operands, item_bytes, plain_operands
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .cost import product_gflops
from .products import MOST_ALONG_Z, Tiled, code_for, lies_along_depth, partial_sums, splits_for
from .tuning import (
    MMA_READS,
    ROW_MOMENTS,
    ROW_STATISTICS,
    VECTOR_ROWS_MOST_ROWS,
    WGMMA_NORMALISED,
    WGMMA_REACHED,
    WGMMA_READS,
    WGMMA_RING_STEP,
)

ARCHITECTURE = "sm_90a"
SIZES = tuple(product((128, 64), (256, 192, 128, 96, 64, 32)))
"""bm, bn: three times a power of two divides the 768 columns of transformers into tiles of which 128 fill 132
multiprocessors."""
ELEMENTS: dict[str, Attribute] = {"tf32": f32, "3xtf32": f32, "fp16": f16, "bf16": bf16}
"""Element type of what is multiplied, by precision."""
BK = {"tf32": (32, 64), "3xtf32": (32,), "fp16": (64, 128), "bf16": (64, 128)}
"""Depths of what is in shared memory at a time: four or eight steps. Split numbers are cut off less in short sums."""
MOST_SPLIT = 128
"""Columns of a block of split numbers, of which registers hold two sums each."""
STAGES = (4, 3)
"""Tiles of an operand in shared memory: as many as let all blocks be resident at once that could be with the least."""
EVEN_REGISTERS = 168
"""Registers of a thread where each of the four parts of a multiprocessor has three warps: two warpgroups and more."""
REGISTERS = (232, 40)
"""Those of two warpgroups that multiply, and of a third one that has given them its own; multiples of 8."""
BOX_ALIGNMENT = alignment_of(max(SWIZZLES.values()))
BARRIERS = 1024  # bytes of the stages' barriers, beside what a launch asks for and aligned as that is


@dataclass(frozen=True)
class Wgmma(Schedule[GpuAttr]):
    """Tiles of sums by warpgroups."""

    forms = ("contraction",)

    bm: TileSize
    """Rows of a block: a multiple of 64."""
    bn: TileSize
    """Columns of a block and of a panel of weights: a multiple of 8, at most 256."""
    bk: TileSize
    """Depth of what is in shared memory at a time: a multiple of 8, or of 16 if numbers have 16 bits."""
    stages: TileSize
    """Tiles of each operand in shared memory, at least two."""
    splits: TileSize = 1
    """Parts of the depth that are summed up by themselves."""
    half: bool = False
    """Whether numbers are rounded to f16."""
    brain: bool = False
    """Whether numbers are rounded to bf16; without either, to tf32."""
    split: bool = False
    """Whether they are split in two of tf32."""
    cluster: bool = False
    """Whether the blocks of a tile's parts are a cluster, and add their sums themselves."""
    producer: bool = False
    """Whether a warp of its own copies both operands, the rows as boxes of a tensor; see `_lies_in_boxes`."""

    @property
    def threads(self) -> int:
        """Threads of a block that multiply."""
        return WARPGROUP * self.bm // ROWS

    @property
    def step(self) -> int:
        """Depth of one product."""
        return 16 if self.half or self.brain else 8

    @property
    def registers(self) -> int:
        """Expected registers of a thread that multiplies."""
        return self.bn // 2 * (1 + self.split) + 64

    @property
    def copying(self) -> int:
        """Threads of a block that only copy: a warp, or a warpgroup that gives registers to two that need them."""
        few = self.bm == ROWS or self.registers <= EVEN_REGISTERS
        return 0 if not self.producer else GpuAttr.WARP if few else WARPGROUP

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """Blocks of several sizes that fit a multiprocessor, and split-K factors for each."""
        form, precision = code_for(kernel, of_norms=True), target.precision.data
        if not has_warpgroups(target):
            return
        if form is None or not _has_weight(kernel, form, precision) or not _norms_fit(form):
            return
        shape = product_shape(form.root)
        half, brain, split = (precision == each for each in ("fp16", "bf16", "3xtf32"))
        for (bm, bn), bk in product(SIZES, BK[precision]):
            if bounds_of(shape.batch)[1] > MOST_ALONG_Z or ceil(shape.columns / bn) > MOST_ALONG_Z:
                continue
            if split and bn > MOST_SPLIT:
                continue
            if form.moments is not None and (shape.columns % bn or bn % form.moments.length):
                continue
            for splits, cluster in splits_for(kernel, bm, bn, bk, target):
                if splits > 1 and not cluster and (form.moments or form.normalises):
                    continue
                for producer in (False, True) if _lies_in_boxes(form) else (False,):
                    ways = [cls(bm, bn, bk, stages, splits, half, brain, split, cluster, producer) for stages in STAGES]
                    resident = [each._tiled(kernel, target).resident(target) for each in ways]
                    blocks = ceil(shape.rows / bm) * ceil(shape.columns / bn) * shape.batch * splits
                    needed = min(resident[-1], ceil(blocks / target.multiprocessors.data))
                    if needed and not ((cluster or form.moments) and ways[0].copying == WARPGROUP):
                        yield next(way for way, held in zip(ways, resident, strict=True) if held >= needed)

    def _tiled(self, kernel: KernelOp, target: GpuAttr) -> Tiled:
        form, machines = contraction_form(kernel), target.multiprocessors.data
        read, width = item_bytes(form.rows), 2 if self.step == 16 else 8 if self.split else 4
        left = max(self.bm * (self.bk + 8), self.bk * (self.bm + 8)) * read
        if self.producer:
            left = self.bm * self.bk * read
        # Fragments are read while tensor cores multiply: the slower of both counts.
        reading = self.bm * self.bk * read / (MMA_READS if self.producer else WGMMA_READS)
        reading *= WGMMA_NORMALISED if form.normalised else 1
        most = 2 * self.bm * self.bn * self.bk * machines / reading
        norms = [*form.normalises, *([] if form.normalised is None else [form.normalised])]
        statistics = len(norms) * self.bm * 8
        if self.producer:  # whose boxes are behind them
            statistics = ceil(statistics / BOX_ALIGNMENT) * BOX_ALIGNMENT
        return Tiled(
            self.bm,
            self.bn,
            self.bk,
            self.splits,
            self.cluster,
            self.threads + self.copying,
            EVEN_REGISTERS if self.copying == WARPGROUP else self.registers,
            self.stages * (left + self.bn * self.bk * width) + BARRIERS + statistics,
            min(product_gflops(target) * WGMMA_REACHED, most),
            right_bytes=width,
            latency=WGMMA_RING_STEP if self.producer else None,
            norms=len(norms) * ROW_STATISTICS + self._moments(form),
        )

    def _moments(self, form: ContractionForm) -> float:
        """Seconds of making moments: for each piece of a row that a warp comes to, one after the other."""
        if form.moments is None:
            return 0.0
        lanes = self.bm * self.bn // 4 // (self.splits if self.cluster else 1)  # each has four columns
        return ceil(lanes / self.threads) * ROW_MOMENTS

    def pairs(self, kernel: KernelOp) -> bool:
        """Whether depths that lie four apart are neighbours: f32 that ldmatrix reads, and that become 16 bits."""
        return self.producer and self.step == 16 and item_bytes(contraction_form(kernel).rows) == 4

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        return self._tiled(kernel, target).seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form, packing = contraction_form(kernel), self.packing(kernel)
        weight = argument_index(kernel, form.rhs)
        readers = [form.root, *(op for op in form.epilogue if isinstance(op, ElementwiseOp))]
        return InterfaceAttr.of(
            strided_operands=[each for each in plain_operands(kernel, readers) if each != weight],
            strided_results=[0],
            inplace=same_place_pairs(kernel),
            packed={weight: packing},
            scratch=self.scratch(kernel).together,
        )

    def packing(self, kernel: KernelOp) -> CoreMatrixPacking:
        """That of the weight."""
        root = contraction_form(kernel).root
        groups = root.groups.value.data if isinstance(root, ConvOp) else 1
        transposed = isinstance(root, MatmulOp) and root.transpose_b is not None
        kept = element_type_of_value(root.operands[1]) != f32
        flags = (transposed, self.half, self.brain, kept, self.split, self.pairs(kernel))
        return CoreMatrixPacking(self.bn, self._depth(kernel), groups, *flags)

    def _depth(self, kernel: KernelOp) -> int:
        """The depth, padded to whole tiles of all parts."""
        depth = product_shape(contraction_form(kernel).root).depth
        return ceil(ceil(depth / self.bk) / self.splits) * self.splits * self.bk

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """Partial sums under split-K without clusters."""
        return partial_sums(kernel, self.splits, self.cluster)


def has_warpgroups(target: GpuAttr) -> bool:
    """Whether a target has the instructions, and a precision for them."""
    return target.architecture.data == ARCHITECTURE and target.precision.data in BK


def multiplies_rows(root: MatmulOp) -> bool:
    """Whether rows of f32, more than a few, are multiplied by a matrix of weights; before kernels are formed."""
    plain = all(element_type_of_value(value) == f32 for value in (*root.operands, root.result))
    weight = (
        isinstance(root.rhs.owner, WeightOp | ConstantOp) and len(shape_of(root.rhs)) == 2 and root.transpose_a is None
    )
    if not plain or not weight or 0 in (*shape_of(root.lhs), *shape_of(root.rhs)):
        return False
    rows = product_shape(root).rows
    return not is_fixed(rows) or rows > VECTOR_ROWS_MOST_ROWS


def _norms_fit(form: ContractionForm) -> bool:
    """Whether rows that are normalised, and moments, are those of a plain product of f32; pieces are of a few lanes."""
    norms = [each for each in (form.normalised, *form.normalises, form.moments) if each is not None]
    plain = isinstance(form.root, MatmulOp) and form.root.transpose_a is None
    pieces = form.moments is None or form.moments.length in (8, 16, 32)
    return not norms or (plain and pieces and all(element_type_of_value(each.x) == f32 for each in norms))


def _lies_in_boxes(form: ContractionForm) -> bool:
    """Whether rows can be copied as boxes of a tensor: lines of whole 16 bytes along the depth, of whole pictures."""
    root = form.root
    if isinstance(root, ConvOp):
        geometry = conv_geometry(root)
        if not geometry.pointwise or geometry.stride != (1, 1):
            return False
    depth = product_shape(root).depth
    return lies_along_depth(form) and is_fixed(depth) and depth * item_bytes(form.rows) % UNIT == 0


def _has_weight(kernel: KernelOp, form: ContractionForm, precision: str) -> bool:
    """Whether the right-hand side is a weight that can be packed: one matrix, or filters, of f32 or what it becomes."""
    constants = [kernel.arguments[position] for position in constant_operands(kernel)]
    matrix = isinstance(form.root, ConvOp) or len(shape_of(form.rhs)) == 2
    return matrix and form.rhs in constants and element_type_of_value(form.rhs) in (f32, ELEMENTS[precision])
