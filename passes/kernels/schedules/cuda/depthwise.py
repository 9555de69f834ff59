"""The depthwise schedule: a thread computes a vector of channels of several adjacent pixels.

Neighbouring threads have neighbouring channels, so that all reads are whole vectors in a row. Each pixel that a thread
reads serves all taps of a row of the filter; rows of pixels that several threads read come from the first-level cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import AnyFloat

from .....dialects.graph.ops.contraction import ConvOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.packing.packings import DepthwisePacking
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from ...element_flow import same_place_pairs
from ...forms.contraction import ContractionForm, ConvGeometry, contraction_form, conv_geometry
from ...kernel_facts import all_results, argument_index, item_bytes
from ..schedule import Schedule, TileSize
from .cost import arithmetic_seconds, bytes_of, occupied, resident_blocks, stream_seconds
from .products import multiplies_bytes
from .tuning import LAUNCH, NEAR

PIXELS = (1, 2, 4, 8)
BLOCKS = (64, 128, 256)
MOST_SUMS = 64
"""Sums of a thread, of 32 bits each."""
MOST_COLUMNS = 16
"""Columns of a filter: code names each."""


@dataclass(frozen=True)
class Depthwise(Schedule[GpuAttr]):
    """Vectors of channels of several pixels in a row."""

    forms = ("contraction",)
    rank = 1

    pixels: TileSize
    """Pixels of a thread, side by side."""
    block: TileSize
    """Threads of a block."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """For floats or bytes with channels last, and one filter per channel."""
        form = code_for(kernel)
        if form is None:
            return
        width, most = conv_geometry(form[1]).out_width, MOST_SUMS * item_bytes(form[1].x) // GpuAttr.ACCESS
        for pixels in PIXELS:
            if pixels < 2 * width and pixels <= most:
                yield from (cls(pixels, block) for block in BLOCKS)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Pixels read again come from near caches."""
        found = code_for(kernel)
        assert found is not None
        g, size = conv_geometry(found[1]), item_bytes(found[1].x)
        threads = self.tiles(g) * -(-g.channels * size // GpuAttr.ACCESS)
        blocks = -(-threads // self.block)
        columns = (self.pixels - 1) * g.stride[1] + (g.kernel[1] - 1) * g.dilation[1] + 1
        reads = g.kernel[0] * (columns + g.kernel[1]) * GpuAttr.ACCESS
        share = max(1e-6, occupied(blocks, resident_blocks(self.block), target))
        near = threads * reads / (NEAR * target.multiprocessors.data * share) * 1e-9
        moving = stream_seconds(bytes_of(kernel), 0, blocks, self.block, GpuAttr.ACCESS, target)
        wasted = self.tiles(g) * self.pixels / max(1, g.batch * g.out_height * g.out_width)
        return LAUNCH + max(moving, near, arithmetic_seconds(kernel, target, share) * wasted)

    def tiles(self, g: ConvGeometry) -> int:
        """Number of threads for one vector of channels."""
        return g.batch * g.out_height * -(-g.out_width // self.pixels)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = contraction_form(kernel)
        packed = argument_index(kernel, form.rhs)
        return InterfaceAttr.of(
            strided_operands=[i for i in range(len(kernel.arguments)) if i != packed],
            strided_results=all_results(kernel),
            inplace=same_place_pairs(kernel),
            packed={packed: DepthwisePacking(shape_of(form.root.results[0])[-1])},
        )


def code_for(kernel: KernelOp) -> tuple[ContractionForm, ConvOp] | None:
    """The form and root of a supported kernel; None for others."""
    form = contraction_form(kernel)
    root = form.root
    if not isinstance(root, ConvOp) or root.layout.data != "NHWC" or form.prologue or form.pool or form.means:
        return None
    x, weight = shape_of(root.x), shape_of(root.weight)
    numbers = isinstance(element_type_of_value(root.x), AnyFloat) or multiplies_bytes(form)
    plain = form.rhs in kernel.arguments and numbers
    one_each = root.groups.value.data == x[-1] == weight[0] and weight[1] == 1
    return (form, root) if plain and one_each and len(x) in (3, 4) and weight[-1] <= MOST_COLUMNS else None
