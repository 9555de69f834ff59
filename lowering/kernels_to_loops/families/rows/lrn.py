"""Local response normalisation, channels-last: one pixel at a time, so that it works in place.

    for each pixel in this thread's share:
        scratch = the squares of its channels, zero-padded on both sides
        for vectors of channels: x / (bias + alpha / size * sum of `size` neighbours in scratch)^beta

The usual exponent 0.75 is computed by two square roots; another one by exp and log.
"""

from __future__ import annotations

from xdsl.dialects.builtin import VectorType
from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.windows import LrnOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import pinned
from .....passes.kernels.schedules.cpu.lrn import Lrn
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index, memref_type, strides_of
from ....kernel_code.merged_axes import collapse
from ...kernel_instance import KernelInstance


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    roots = [op for op in k.body if isinstance(op, LrnOp)]
    if len(roots) != 1 or len(k.body) != 1:
        raise CompileError(f"{describe(k.kernel)}: a kernel of this family holds one graph.lrn and nothing else")
    root, b = roots[0], k.b
    shape = shape_of(root.x)
    channels, size = pinned(shape[-1]), root.size.value.data
    lanes = k.schedule_as(Lrn).vector
    before = (size - 1) // 2
    x, out = k.operands[0], k.results[0]
    element = memref_type(x).element_type
    padded = channels + size - 1 + lanes
    squares = k.scratch_part("squares")
    m = Arithmetic(b, VectorType(element, [lanes]))
    sizes, (x_steps, out_steps) = collapse(
        shape[:-1], [strides_of(memref_type(x))[:-1], strides_of(memref_type(out))[:-1]]
    )
    zero, whole = m.constant(0.0), channels // lanes * lanes
    for at in range(0, padded - lanes + 1, lanes):
        b.vstore(zero, squares, [at])
    b.vstore(zero, squares, [padded - lanes])

    def scaled(value: SSAValue, at: Index) -> SSAValue:
        total = b.vload(squares, [at], lanes)
        for neighbour in range(1, size):
            total = m.add(total, b.vload(squares, [b.add(at, neighbour)], lanes))
        factor = m.constant(root.alpha.value.data / size)
        base = m.add(m.mul(total, factor), m.constant(root.bias.value.data))
        return m.div(value, _power(m, base, root.beta.value.data))

    def pixel(i: Index) -> None:
        index = b.delinearize(i, sizes)
        source = b.view(x, b.linear(index, x_steps), [channels], [1])
        target = b.view(out, b.linear(index, out_steps), [channels], [1])

        def square(at: Index, valid: int | None) -> None:
            value = b.vload(source, [at], lanes, valid)
            b.vstore(m.mul(value, value), squares, [b.add(at, before)], valid)

        def normalise(at: Index, valid: int | None) -> None:
            b.vstore(scaled(b.vload(source, [at], lanes, valid), at), target, [at], valid)

        for step in (square, normalise):
            b.loop(0, whole, lambda at, _, step=step: step(at, None), step=lanes)
            if whole < channels:
                step(whole, channels - whole)

    k.items(b.product(sizes), pixel)


def _power(m: Arithmetic, base: SSAValue, exponent: float) -> SSAValue:
    """base ** exponent for positive bases."""
    root = m.unary("sqrt", base) if exponent in (0.5, 0.75) else base
    if exponent == 0.75:
        return m.mul(root, m.unary("sqrt", root))
    if exponent in (0.5, 1.0):
        return root
    return m.unary("exp", m.mul(m.unary("log", base), m.constant(exponent)))
