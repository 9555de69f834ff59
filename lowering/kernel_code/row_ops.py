"""The passes over a row, for each kind of root of a row kernel.

All values have the wide type: 16-bit floats as f32. Results go to `Row.emit`, once per element or once per row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from typing_extensions import override
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, VectorType, i32, i64
from xdsl.ir import SSAValue

from ...dialects.extensions.arith import IndexCastOp
from ...dialects.extensions.vector import StepOp
from ...dialects.graph.ops.normalization import InstanceNormOp, LayerNormOp, RmsNormOp
from ...dialects.graph.ops.reduction import ArgExtremumOp, CumulativeOp, LogSoftmaxOp, ReduceMeanOp, ReduceOp, SoftmaxOp
from ...dialects.graph.values import element_type_of_value, shape_of
from ...passes.kernels.forms.rows import RowForm
from .approximations import shifted_exp
from .arithmetic import Arithmetic, convert
from .elements.element_values import Values, aligned
from .elements.reduction_rules import affine, wide
from .index_expr import Expr
from .reductions import Reduction


class Passes(Protocol):
    """Iterates over the elements of a row; see row_sweep.Sweep. `keeps`: a row can be buffered."""

    @property
    def keeps(self) -> bool: ...

    def run(self, reductions: Sequence[Reduction], body: Callable[[Expr], Sequence[SSAValue]]) -> list[SSAValue]: ...

    def keep(self, position: Expr, value: SSAValue) -> None: ...

    def kept_at(self, position: Expr) -> SSAValue: ...


class NoPasses(Passes):
    """A placeholder where only single elements are built."""

    @property
    @override
    def keeps(self) -> bool:
        return False

    @override
    def run(self, reductions: Sequence[Reduction], body: Callable[[Expr], Sequence[SSAValue]]) -> list[SSAValue]:
        raise AssertionError

    @override
    def keep(self, position: Expr, value: SSAValue) -> None:
        raise AssertionError

    @override
    def kept_at(self, position: Expr) -> SSAValue:
        raise AssertionError


@dataclass(frozen=True)
class Row:
    """One row (or, across rows, one vector of rows) of a kernel; `keeps`: the first pass buffers x."""

    v: Values
    form: RowForm
    passes: Passes
    index: Callable[[Expr], list[Expr]]  # of x, from the position in the row
    emit: Callable[[Expr | None, SSAValue], None]
    keeps: bool

    def first(self, position: Expr) -> SSAValue:
        """The element of x, buffered if `keeps`."""
        value = wide(self.v, self.form.root.x, self.index(position))
        if self.keeps:
            self.passes.keep(position, value)
        return value

    def again(self, position: Expr) -> SSAValue:
        """The element of x in a later pass."""
        if self.keeps:
            return self.passes.kept_at(position)
        return wide(self.v, self.form.root.x, self.index(position))

    def reduction(self, kind: str, products: bool = False) -> Reduction:
        """A reduction of elements of x."""
        return Reduction(self.v.b, kind, element_type_of_value(self.form.root.x), products)

    def total(self, kind: str, body: Callable[[Expr], SSAValue], products: bool = False) -> SSAValue:
        """The reduction of the elements that `body` returns."""
        return self.passes.run([self.reduction(kind, products)], lambda position: [body(position)])[0]

    def each(self, body: Callable[[Expr], SSAValue]) -> None:
        """Emits the result of `body` for each element."""

        def run(position: Expr) -> Sequence[SSAValue]:
            self.emit(position, body(position))
            return ()

        self.passes.run([], run)

    def both(self, x: SSAValue, y: SSAValue) -> tuple[Arithmetic, SSAValue, SSAValue]:
        """Two values, both scalars or both vectors, and arithmetic on them."""
        a, b = self.v.alike([x, y])
        return Arithmetic(self.v.b, a.type), a, b


def write_row(row: Row) -> None:
    """Builds all passes over one row."""
    root = row.form.root
    match root:
        case SoftmaxOp():
            _softmax(row)
        case LogSoftmaxOp():
            _log_softmax(row)
        case LayerNormOp() | RmsNormOp() | InstanceNormOp():
            _normalise(row, root)
        case ReduceOp():
            _reduce(row, root)
        case ArgExtremumOp():
            _arg_extremum(row, root)
        case CumulativeOp():
            _cumulative(row, root)


def result_at(row: Row, position: Expr, value: SSAValue) -> SSAValue:
    """A normalisation's result from a normalised element; other roots' elements are unchanged."""
    root, v = row.form.root, row.v
    match root:
        case LayerNormOp() | RmsNormOp():
            inner = row.index(position)[root.axis.value.data :]
            bias = root.bias if isinstance(root, LayerNormOp) else None
            summand = None if bias is None else (bias, aligned(inner, shape_of(bias)))
            return affine(v, value, (root.scale, aligned(inner, shape_of(root.scale))), summand)
        case InstanceNormOp():
            channel = row.index(position)[1:2]
            return affine(v, value, (root.scale, channel), (root.bias, channel))
        case _:
            return value


def _softmax(row: Row) -> None:
    # NaN is left out of the peak, but comes back through the sum; an infinite peak makes NaN, too.
    peak = row.total("peak", row.first)

    def power(position: Expr) -> SSAValue:
        value = shifted_exp(*row.both(row.again(position), peak))
        if row.passes.keeps:
            row.passes.keep(position, value)
        return value

    total = row.total("sum", power)
    m = Arithmetic(row.v.b, total.type)
    scale = m.div(m.constant(1), total)

    def result(position: Expr) -> SSAValue:
        value = row.passes.kept_at(position) if row.passes.keeps else power(position)
        own, value, factor = row.both(value, scale)
        return own.mul(value, factor)

    row.each(result)


def _log_softmax(row: Row) -> None:
    peak = row.total("peak", row.first)

    def below(position: Expr) -> SSAValue:
        # Rounded by itself: fused with a product that makes x, what is left of equal numbers would not be 0.
        m, x, top = row.both(row.again(position), peak)
        return replace(m, contract=False).sub(x, top)

    def power(position: Expr) -> SSAValue:
        value = below(position)
        return Arithmetic(row.v.b, value.type).unary("exp", value)

    total = row.total("sum", power)
    shift = Arithmetic(row.v.b, total.type).unary("log", total)

    def result(position: Expr) -> SSAValue:
        own, x, log = row.both(below(position), shift)
        return own.sub(x, log)

    row.each(result)


def _normalise(row: Row, root: LayerNormOp | RmsNormOp | InstanceNormOp) -> None:
    mean: SSAValue | None = None
    seen = row.first
    if not isinstance(root, RmsNormOp):
        mean = _over_count(row, row.total("sum", row.first))
        seen = row.again

    def deviation(x: SSAValue) -> SSAValue:
        if mean is None:
            return x
        m, x, centre = row.both(x, mean)
        return m.sub(x, centre)

    def square(position: Expr) -> SSAValue:
        value = deviation(seen(position))
        return Arithmetic(row.v.b, value.type).mul(value, value)

    variance = _over_count(row, row.total("sum", square, products=True))
    m = Arithmetic(row.v.b, variance.type)
    epsilon = m.constant(root.epsilon.value.data)
    scale = m.div(m.constant(1), m.unary("sqrt", m.add(variance, epsilon)))

    def result(position: Expr) -> SSAValue:
        own, value, factor = row.both(deviation(row.again(position)), scale)
        return result_at(row, position, own.mul(value, factor))

    row.each(result)


def _over_count(row: Row, total: SSAValue) -> SSAValue:
    m = row.reduction("sum").on(total.type)
    return m.div(total, m.constant(row.form.length))


def _reduce(row: Row, root: ReduceOp) -> None:
    total = row.total(root.KIND, row.first)
    row.emit(None, _over_count(row, total) if isinstance(root, ReduceMeanOp) else total)


def _arg_extremum(row: Row, root: ArgExtremumOp) -> None:
    best = row.total(root.KIND, row.first)
    last = root.select_last is not None
    places = Reduction(row.v.b, "max" if last else "min", i32)

    def place(position: Expr) -> SSAValue:
        own, x, extreme = row.both(row.again(position), best)
        found = own.compare("eq", x, extreme)
        if own.is_float:
            found = row.v.b.insert(arith.OrIOp(found, own.is_nan(x)))
        here = _position(row, position)
        if isinstance(x.type, VectorType):
            here = row.v.spread(here)
        return row.v.b.select(found, here, places.start(here.type))

    found = row.passes.run([places], lambda position: [place(position)])[0]
    row.emit(None, convert(row.v.b, found, i32, i64))


def _position(row: Row, position: Expr) -> SSAValue:
    """The position in the row as i32, one per lane if lanes run along the row."""
    v = row.v
    if v.vector is None or not v.depends_on_lane(position):
        return v.b.insert(IndexCastOp(v.b.index(position.emit(v.b)), i32))
    lanes = v.vector.lanes
    start = v.b.splat(v.b.insert(IndexCastOp(v.b.index(position.emit(v.b)), i32)), lanes)
    steps = v.b.insert(StepOp(VectorType(IndexType(), [lanes])))
    return v.b.insert(arith.AddiOp(start, v.b.insert(IndexCastOp(steps, VectorType(i32, [lanes])))))


def _cumulative(row: Row, root: CumulativeOp) -> None:
    """A sequential scan, one element (of each row) at a time."""
    v, reduction = row.v, row.reduction(root.KIND)
    size = row.form.length

    def step(i: Expr, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        position = i * -1 + (size - 1) if root.reverse is not None else i
        total = reduction.combine(carried[0], v.spread(row.first(position)))
        row.emit(position, carried[0] if root.exclusive is not None else total)
        return [total]

    v.carry_between(0, size, size, [v.spread(reduction.start())], step)
