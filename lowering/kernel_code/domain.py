"""Plans the loops over a kernel's elements: splits axes at reshapes and borders, then merges axes.

The elements are built for trial, with a variable per axis, into a block that is discarded. The index expressions of
their accesses determine the loops:
- A remaining division of a variable (a reshape splits the axis elsewhere) splits the axis in two.
- A border inside an axis (a seam of a concatenation, the edge of a padded image) becomes a break: the loop is peeled
  into one loop per piece, without conditions inside.
- Two adjacent axes across which all accesses are contiguous are merged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product

from xdsl.ir import Attribute, Block

from ...dialects.graph.ops.structure import KernelOp
from ...dialects.sizes.sizes import now
from ...passes.geometry.boxes import row_major
from .elements.element_values import Values
from .index_expr import Expr, Quotient, Remainder, Var, linear
from .lane_access import Line, Vector
from .loop_builder import INDEX, LoopBuilder

# Limit of pieces, beyond which code grows too much and conditions stay inside the loops.
_MOST_PIECES = 48
_MOST_TRIALS = 8

Piece = tuple[tuple[int, int], ...]


@dataclass
class Canvas:
    """The target of elements: the body's values, and the results' buffers."""

    values: Values
    results: list[Line]


Element = Callable[[Canvas, list[Expr]], None]
"""Builds one element, given one flat index per group of axes."""


@dataclass
class Domain:
    """An iteration space: groups of axes, outermost first; each group as a whole is one row-major index."""

    groups: list[list[int]]  # sizes of axes
    breaks: dict[tuple[int, int], set[int]] = field(default_factory=dict[tuple[int, int], set[int]])

    def axes(self) -> list[tuple[int, int]]:
        """(group, axis) of every axis, outermost first."""
        return [(g, a) for g, group in enumerate(self.groups) for a in range(len(group))]

    def size(self, axis: tuple[int, int]) -> int:
        """Number of elements along an axis."""
        return self.groups[axis[0]][axis[1]]

    def pieces(self) -> list[Piece]:
        """Boxes [low, high) per axis that partition the domain at its breaks."""
        ranges: list[list[tuple[int, int]]] = []
        for axis in self.axes():
            points = [0, *sorted(_by_text(self.breaks.get(axis, ()))), self.size(axis)]
            ranges.append(list(pairwise(points)))
        return list(product(*ranges))

    def part(self, group: int) -> Domain:
        """One group as a domain of its own."""
        cuts = {(0, axis): points for (g, axis), points in self.breaks.items() if g == group}
        return Domain([self.groups[group]], cuts)

    def with_part(self, group: int, other: Domain) -> Domain:
        """The same loops, with one group's loops replaced by those of another domain."""
        groups = [(other if g == group else self).groups[g] for g in range(len(self.groups))]
        cuts = {
            axis: points
            for source in (self, other)
            for axis, points in source.breaks.items()
            if (source is other) == (axis[0] == group)
        }
        return Domain(groups, cuts)

    def flat(self, index: Sequence[Expr]) -> list[Expr]:
        """One row-major index per group, from one index per axis."""
        result: list[Expr] = []
        position = 0
        for group in self.groups:
            result.append(linear(index[position : position + len(group)], row_major(group)))
            position += len(group)
        return result


def _by_text(sizes: Collection[int]) -> list[int]:
    """The sizes of a set in an order that is the same in every process, as comparisons of sizes may note guards."""
    return sorted(sizes, key=str)


class Trial:
    """Builds elements for trial, once per piece of a domain."""

    def __init__(
        self,
        kernel: KernelOp,
        operands: Sequence[Attribute],
        results: Sequence[Attribute],
        *,
        whole_vectors: bool = False,
    ) -> None:
        self.kernel = kernel
        self.whole_vectors = whole_vectors
        self.operands = operands
        self.results = results

    def write(
        self, domain: Domain, element: Element, vector: int | None = None, lanes: int = 1
    ) -> list[tuple[list[Var], Values]]:
        """The variables and recorded accesses for each piece; `vector` is the vectorised axis.

        Raises NotVectorisable if lanes need different code.
        """
        written: list[tuple[list[Var], Values]] = []
        for piece in domain.pieces():
            block = Block(arg_types=[*self.operands, *self.results, *[INDEX for _ in piece]])
            b = LoopBuilder(block)
            buffers = block.args[: len(self.operands) + len(self.results)]
            values = Values(b, self.kernel, buffers[: len(self.operands)], on_demand=True)
            values.whole_vectors = self.whole_vectors
            canvas = Canvas(values, [values.line(buffer) for buffer in buffers[len(self.operands) :]])
            variables = [
                Var(arg, low, high - 1) for arg, (low, high) in zip(block.args[len(buffers) :], piece, strict=True)
            ]
            along = None if vector is None else Vector(variables[vector], lanes, lanes)
            with values.vectorised(along):
                element(canvas, domain.flat([Expr.of(var) for var in variables]))
            written.append((variables, values))
        return written


def domain_for(trial: Trial, shape: Sequence[Sequence[int]], element: Element, *, cuts: bool = True) -> Domain:
    """The loops for the elements of a box; `shape` has one list of sizes per group of axes.

    Axes are merged within a group only, and every group keeps at least one axis. Without `cuts`, conditions stay inside
    loops.
    """
    domain = Domain([[size for size in group if size != 1] or [1] for group in shape])
    written = trial.write(domain, element)
    for _ in range(_MOST_TRIALS):
        if not (_split(domain, written) or (cuts and _cut(domain, written))):
            break
        written = trial.write(domain, element)
    _merge(domain, written)
    return domain


def _divisions(values: Values) -> list[Quotient | Remainder]:
    return [division for expr in values.touched for division in expr.divisions()]


def _split(domain: Domain, written: Sequence[tuple[list[Var], Values]]) -> bool:
    """Splits an axis at a remaining division; returns whether there was one."""
    axes = domain.axes()
    for variables, values in written:
        for division in _divisions(values):
            for atom, factor in division.of.terms:
                if factor != 1 or not isinstance(atom, Var) or atom not in variables:
                    continue
                axis = axes[variables.index(atom)]
                size, by = domain.size(axis), division.by
                cuts = _by_text(domain.breaks.get(axis, ()))
                if size % by == 0 and now(by) < now(size) and all(cut % by == 0 for cut in cuts):
                    _split_axis(domain, axis, by)
                    return True
    return False


def _split_axis(domain: Domain, axis: tuple[int, int], by: int) -> None:
    group, position = axis
    sizes = domain.groups[group]
    sizes[position : position + 1] = [sizes[position] // by, by]
    moved: dict[tuple[int, int], set[int]] = {}
    for (g, a), cuts in domain.breaks.items():
        if (g, a) == axis:
            moved[g, a] = {cut // by for cut in cuts}
        else:
            moved[g, a + (g == group and a > position)] = cuts
    domain.breaks = moved


def _cut(domain: Domain, written: Sequence[tuple[list[Var], Values]]) -> bool:
    """Adds breaks at borders while there are few pieces; returns whether any was new."""
    axes = domain.axes()
    wanted: dict[tuple[int, int], set[int]] = {}
    for variables, values in written:
        for var, position in values.breaks:
            if var in variables:
                wanted.setdefault(axes[variables.index(var)], set()).add(position)
    changed = False
    for axis in sorted(wanted, reverse=True):  # breaks of inner axes save more conditions
        cuts = domain.breaks.get(axis, set())
        new = {cut for cut in _by_text(wanted[axis]) if 0 < cut < domain.size(axis)} - cuts
        if not new:
            continue
        pieces = len(domain.pieces()) // (len(cuts) + 1)
        if pieces * (len(cuts | new) + 1) <= _MOST_PIECES:
            domain.breaks[axis] = cuts | new
            changed = True
    return changed


def _merge(domain: Domain, written: Sequence[tuple[list[Var], Values]]) -> None:
    """Merges adjacent axes of a group across which all index expressions are linear with matching strides."""
    axes = domain.axes()
    for number in range(len(axes) - 1, 0, -1):
        (group, outer), (inner_group, inner) = axes[number - 1], axes[number]
        if group != inner_group or domain.breaks.get(axes[number]):
            continue
        size = domain.groups[group][inner]
        if all(_walks_as_one(expr, v[number - 1], v[number], size) for v, values in written for expr in values.touched):
            _merge_axes(domain, group, outer, written, number)


def _walks_as_one(expr: Expr, outer: Var, inner: Var, size: int) -> bool:
    a, b = expr.coefficient(outer), expr.coefficient(inner)
    return a is not None and b is not None and a == b * size


def _merge_axes(
    domain: Domain, group: int, outer: int, written: Sequence[tuple[list[Var], Values]], number: int
) -> None:
    """Merges axis `outer` of a group with the following one."""
    sizes = domain.groups[group]
    factor = sizes[outer + 1]
    sizes[outer : outer + 2] = [sizes[outer] * factor]
    moved: dict[tuple[int, int], set[int]] = {}
    for (g, a), cuts in domain.breaks.items():
        if (g, a) == (group, outer):
            moved[g, a] = {cut * factor for cut in cuts}
        else:
            moved[g, a - (g == group and a > outer)] = cuts
    domain.breaks = moved
    # The merged axis has the strides of its inner part.
    for variables, _ in written:
        del variables[number - 1]
