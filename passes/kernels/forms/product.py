"""Contractions as batched matrix products: batch x (rows x depth) (depth x columns).

A convolution is one product per group: rows are the result's pixels, depth is taps times channels, columns are filters.
Batch dimensions of a matrix product along which the right-hand side is constant are rows, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ....dialects.graph.ops.contraction import ConvOp, MatmulOp
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.graph.values import shape_of
from ...geometry.strided_views import strided_view
from .contraction import ContractionForm, conv_geometry


@dataclass(frozen=True)
class ProductShape:
    """`outer` and `inner` are the batch and row axes of the result; the batch of a convolution is its groups."""

    outer: tuple[int, ...]
    inner: tuple[int, ...]
    outer_sizes: tuple[int, ...]
    inner_sizes: tuple[int, ...]
    columns: int
    depth: int

    @property
    def batch(self) -> int:
        """Number of products."""
        return prod(self.outer_sizes)

    @property
    def rows(self) -> int:
        """Rows of each product."""
        return prod(self.inner_sizes)


def product_shape(root: MatmulOp | ConvOp) -> ProductShape:
    """The sizes of a contraction; a convolution must be channels-last."""
    shape = shape_of(root.results[0])
    if isinstance(root, ConvOp):
        groups, inner = root.groups.value.data, tuple(range(len(shape) - 1))
        depth = prod(shape_of(root.weight)[1:])
        return ProductShape((), inner, (groups,), shape[:-1], shape[-1] // groups, depth)
    view, lead = strided_view(root.rhs), len(shape) - len(shape_of(root.rhs))
    own = [axis for axis in range(lead, len(shape) - 2) if view.sizes[axis - lead] != 1 and view.strides[axis - lead]]
    outer = tuple(axis for axis in own if shape[axis] != 1)
    inner = tuple(axis for axis in range(len(shape) - 1) if axis not in outer)
    depth = shape_of(root.lhs)[-2 if root.transpose_a is not None else -1]
    sizes = [tuple(shape[axis] for axis in axes) for axes in (outer, inner)]
    return ProductShape(outer, inner, sizes[0], sizes[1], shape[-1], depth)


def reads_windows(kernel: KernelOp, form: ContractionForm) -> bool:
    """Whether both operands are strided windows on the kernel's arguments."""
    arguments: set[SSAValue] = set(kernel.arguments)
    return all(strided_view(value).base in arguments for value in (form.lhs, form.rhs))


def never_leaves(root: ConvOp) -> tuple[bool, bool]:
    """Whether all taps lie inside the image: along its height, along its width."""
    g = conv_geometry(root)
    sizes = (g.height, g.width)
    last = [
        (out - 1) * stride + (taps - 1) * dilation - pad
        for out, stride, taps, dilation, pad in zip(
            (g.out_height, g.out_width), g.stride, g.kernel, g.dilation, g.pad, strict=True
        )
    ]
    inside = [pad == 0 and end < size for pad, end, size in zip(g.pad, last, sizes, strict=True)]
    return inside[0], inside[1]
