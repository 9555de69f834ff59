"""Elementwise kernels: one thread for each element of the results, or for a vector of up to 16 bytes.

    i = block * 256 + thread
    if i < elements: result[i] = value of the body at i

Results of one shape share a launch. kernel_code/elements/element_values.py computes single elements. Vector lanes run
along the innermost axis where all accesses along it are contiguous and aligned; conditions (image borders, seams of
concatenations) are evaluated by each thread, once for all its lanes where they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .....dialects.graph.values import shape_of
from .....passes.kernels.schedules.cuda.elements import Elements
from ....kernel_code.domain import Canvas, domain_for
from ....kernel_code.index_expr import Expr, Var, delinearize, linear
from ....kernel_code.lane_access import Vector
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...lanes import lanes_along, trial_of, values_of


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches: one for each shape of its results."""
    numbered = sorted(enumerate(k.kernel.terminator.operands), key=lambda pair: shape_of(pair[1]))
    groups = [(shape, list(group)) for shape, group in groupby(numbered, key=lambda pair: shape_of(pair[1]))]
    for number, (shape, group) in enumerate(groups):
        if 0 not in shape:
            _launch(k, shape, [position for position, _ in group], f"part{number}" if len(groups) > 1 else "")


def _launch(k: GpuKernel, shape: Sequence[int], numbers: Sequence[int], part: str) -> None:
    outputs = [k.kernel.terminator.operands[number] for number in numbers]

    def element(canvas: Canvas, index: list[Expr]) -> None:
        place = delinearize(index[0], shape)
        computed = [canvas.values.at(value, place) for value in outputs]
        for value, buffer in zip(computed, canvas.results, strict=True):
            canvas.values.store(value, buffer, linear(place, buffer.strides))

    trial = trial_of(k, numbers)
    domain = domain_for(trial, [shape], element, cuts=False)
    lanes = lanes_along(k, trial, domain, element, len(domain.axes()) - 1, results=numbers)
    sizes = [domain.size(axis) for axis in domain.axes()]
    sizes[-1] //= lanes
    total = 1
    for size in sizes:
        total *= size
    block = k.schedule_as(Elements).block

    def write(grid: Grid) -> None:
        values = values_of(grid)
        canvas = Canvas(values, [values.line(grid.results[number]) for number in numbers])

        def one(item: Index) -> None:
            index = grid.b.delinearize(item, sizes)
            variables = [Var(i, 0, size - 1) for i, size in zip(index, sizes, strict=True)]
            last = Var(grid.b.mul(index[-1], lanes), 0, sizes[-1] * lanes - 1)
            vector = Vector(last, lanes, lanes) if lanes > 1 else None
            with values.scope(), values.vectorised(vector):
                element(canvas, domain.flat([Expr.of(var) for var in (*variables[:-1], last)]))

        grid.items(total, one)

    k.launch(-(-total // block), block, write, part=part)
