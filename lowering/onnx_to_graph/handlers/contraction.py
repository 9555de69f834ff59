"""Matrix products and convolutions."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, MulOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..node import Handler, Node
from .windows import check_rank, read_kernel, read_window, spatial_ints, split_pads


def _matmul(node: Node) -> SSAValue:
    """numpy's matmul: a vector is a row on the left and a column on the right, without a dimension in the result."""
    a, b = node.operand(0), node.operand(1)
    left, right = shape_of(a), shape_of(b)
    if not left or not right:
        raise node.invalid("operands of a matrix product have at least one dimension")
    if len(left) == 1:
        a = node.reshape(a, (1, *left))
    if len(right) == 1:
        b = node.reshape(b, (*right, 1))
    product = node.emit(MatmulOp(a, b))
    shape = list(shape_of(product))
    if len(right) == 1:
        del shape[-1]
    if len(left) == 1:
        del shape[-1 if len(right) == 1 else -2]
    return node.reshape(product, shape)


def gemm(node: Node) -> SSAValue:
    """alpha * a' @ b' + beta * c"""
    a, b, c = node.operand(0), node.operand(1), node.optional(2)
    for index, matrix in enumerate((a, b)):
        if len(shape_of(matrix)) != 2:
            raise node.invalid(f"operand {index} must have 2 dimensions, got {len(shape_of(matrix))}")
    node.ignore("broadcast")  # opset 6: permits broadcasting, which opset 7 always does
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    result = node.emit(MatmulOp(a, b, transpose_a=node.flag("transA"), transpose_b=node.flag("transB")))
    if alpha != 1.0:
        result = node.emit(MulOp(result, node.scalar(alpha, result)))
    if c is None or beta == 0.0:
        return result
    if beta != 1.0:
        c = node.emit(MulOp(c, node.scalar(beta, c)))
    total = node.emit(AddOp(result, c))
    if not equal_shapes(shape_of(total), shape_of(result)):
        raise node.invalid(f"operand 2 has shape {shape_of(c)}, which doesn't broadcast to {shape_of(result)}")
    return total


def convolution(node: Node, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    """The convolution that the node's attributes describe, with channels second."""
    rank = check_rank(node, shape_of(x))
    kernel = read_kernel(node, weight, rank)
    window = read_window(node, shape_of(x)[2:], kernel)
    return node.emit(ConvOp(x, weight, bias, **window.moves, groups=node.integer("group", 1)))


def _conv(node: Node) -> SSAValue:
    return convolution(node, node.operand(0), node.operand(1), node.optional(2))


def _conv_transpose(node: Node) -> SSAValue:
    x, weight, bias = node.operand(0), node.operand(1), node.optional(2)
    rank = check_rank(node, shape_of(x))
    kernel = read_kernel(node, weight, rank)
    strides, dilations = spatial_ints(node, "strides", rank, 1), spatial_ints(node, "dilations", rank, 1)
    extra = spatial_ints(node, "output_padding", rank, 0)
    pads = spatial_ints(node, "pads", 2 * rank, 0)
    mode = node.text("auto_pad", "NOTSET")
    sizes = node.integers("output_shape")
    if sizes is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        sizes = [size * stride for size, stride in zip(shape_of(x)[2:], strides, strict=True)]
    if sizes is not None:
        full = [
            (size - 1) * stride + (extent - 1) * dilation + 1 + more
            for size, stride, extent, dilation, more in zip(
                shape_of(x)[2:], strides, kernel, dilations, extra, strict=True
            )
        ]
        # A result larger than the natural one has no padding to crop; it is extended at the end instead.
        extra = [more + max(0, size - natural) for more, size, natural in zip(extra, sizes, full, strict=True)]
        total = [max(0, natural - size) for size, natural in zip(sizes, full, strict=True)]
        pads = split_pads(total, upper=mode == "SAME_UPPER")
    elif mode == "VALID":
        pads = [0] * (2 * rank)
    return node.emit(
        ConvTransposeOp(
            x,
            weight,
            bias,
            strides=strides,
            pads=pads,
            dilations=dilations,
            groups=node.integer("group", 1),
            output_padding=extra,
        )
    )


HANDLERS: dict[str, Handler] = {
    "MatMul": _matmul,
    "Gemm": gemm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
}
