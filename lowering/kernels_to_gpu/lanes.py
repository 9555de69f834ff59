"""Vectorisation of GPU kernels: how many adjacent elements a thread can load and store at once.

The limit is 16 aligned bytes. A kernel's elements are built for trial with lanes along one axis, and every access is
checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import BlockArgument, Operation

from ...dialects.graph.values import numpy_dtype
from ..kernel_code.domain import Domain, Element, Trial
from ..kernel_code.elements.element_values import Values
from ..kernel_code.index_expr import Expr, Var
from ..kernel_code.lane_access import Line, NotVectorisable
from .gpu_kernel import GpuKernel, Grid
from .thread_builder import ACCESS

MOST_LANES = 8  # the most lanes of a thread: registers hold them in the wider type of computation


def trial_of(k: GpuKernel, results: Sequence[int] | None = None) -> Trial:
    """A trial build of elements that stores the results of those numbers (None: all)."""
    stored = range(len(k.results)) if results is None else results
    results_of = [k.types[k.results[number]] for number in stored]
    return Trial(k.kernel, [k.types[i] for i in k.operands], results_of, whole_vectors=True)


def values_of(grid: Grid) -> Values:
    """The values of a kernel's body in a launch, for vectors that `lanes_along` has admitted."""
    values = Values(grid.b, grid.kernel, grid.operands)
    values.whole_vectors = True
    return values


def lanes_along(
    k: GpuKernel,
    trial: Trial,
    domain: Domain,
    element: Element,
    axis: int,
    *,
    results: Sequence[int] | None = None,
    scatters: bool = False,
) -> int:
    """The most lanes along an axis of the domain such that all loads and stores are aligned vectors.

    With `scatters`, stores may be strided. `results` selects the results, as in `trial_of`.
    """
    stored = k.results if results is None else [k.results[number] for number in results]
    aligned = [k.aligned[i] for i in (*k.operands, *stored)]
    lanes, size = MOST_LANES, domain.size(domain.axes()[axis])
    while lanes > 1:
        if size and size % lanes == 0 and _fit(trial, domain, element, axis, lanes, aligned, scatters):
            return lanes
        lanes //= 2
    return 1


def _fit(
    trial: Trial, domain: Domain, element: Element, axis: int, lanes: int, aligned: Sequence[int], scatters: bool
) -> bool:
    try:
        written = trial.write(domain, element, vector=axis, lanes=lanes)
    except NotVectorisable:
        return False
    return all(_fits(values, variables[axis], lanes, aligned, scatters) for variables, values in written)


def _fits(values: Values, along: Var, lanes: int, aligned: Sequence[int], scatters: bool) -> bool:
    """Whether all accesses of one trial are vectors."""

    def fits(buffer: Line, place: Expr, apart: bool) -> bool:
        step = place.coefficient(along)
        if step != 1:
            return step == 0 or (apart and step is not None)
        nbytes = lanes * numpy_dtype(buffer.element).itemsize
        others = [factor for atom, factor in place.terms if atom is not along]
        whole = all(each % lanes == 0 for each in (*others, place.constant))
        return whole and nbytes <= ACCESS and aligned[_position(buffer)] % nbytes == 0

    return all(fits(*each, False) for each in values.read) and all(fits(*each, scatters) for each in values.written)


def _position(buffer: Line) -> int:
    """The argument of the trial's block that a line views."""
    owner = buffer.line.owner
    assert isinstance(owner, Operation)
    source = owner.operands[0]
    assert isinstance(source, BlockArgument)
    return source.index
