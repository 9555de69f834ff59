"""Recurrent layers, one launch per step: first the input products of all steps, then the steps.

    from_input[step] = x w^T + bias of w; states = initial ones, or zeros
    for each step: for each phase of the cell:
        sums[gates, rows] of a unit = state r^T       split over the depth between lanes, reduced by shuffles
        c, h, .. = cell(from_input[step], sums)       a lane for each row

All steps launch one function, which is given the step's windows of `from_input` and `y` and the states before and after
it. Directions are blocks of one grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.ir import SSAValue

from .....dialects.graph.values import element_type_of_value
from .....dialects.sizes.sizes import pinned
from .....passes.kernels.schedules.cuda.recurrence.steps import BLOCK, Steps, blocks_of
from ....kernel_code.loop_builder import Index
from ....kernel_code.recurrence_cells import CellPhase, phases_of
from ...gpu_kernel import BuiltLaunch, GpuKernel, Grid, LaunchWindow
from ...thread_builder import ThreadBuilder
from .layer import Layer
from .sums import Share, own_row, sums_of
from .unit import cell, given_by_input, where_kept


def lower(k: GpuKernel) -> None:
    """Builds the kernel's launches."""
    layer, o = Layer(k), k.schedule_as(Steps)
    if layer.is_empty:
        return
    initial = [_state(layer, name, 0) for name in layer.states]
    layer.launch_inputs(o.input_lanes, o.input_rows, partial(_start, layer), initial)
    phases = phases_of(layer.root)
    written: list[BuiltLaunch] = []
    for step in range(pinned(layer.steps)):  # so many launches: each number of steps is another compile
        windows = _windows(layer, step)
        for number, phase in enumerate(phases):
            if step:
                k.repeat(written[number], list(windows.values()))
                continue
            blocks = layer.directions * blocks_of(layer.hidden, o.lanes, layer.batch, o.rows)
            part = "step" if len(phases) == 1 else f"step_{number}"
            write = partial(_step, layer=layer, phase=phase, names=list(windows))
            written.append(k.launch(blocks, BLOCK, write, part=part, windows=list(windows.values())))


def _state(layer: Layer, name: str, step: int) -> LaunchWindow:
    """The window of a state before a step; after the last step it is the kernel's result, if used."""
    result = layer.last_state(name)
    if step == pinned(layer.steps) and result is not None:
        sizes = (layer.directions, layer.batch, layer.hidden)
        return LaunchWindow(layer.k.results[result], 0, layer.element, sizes)
    return layer.k.scratch_window(name, step % 2)


def _windows(layer: Layer, step: int) -> dict[str, LaunchWindow]:
    """The windows that a step is given, by name."""
    windows = {"from_input": layer.k.scratch_window("from_input", step)}
    for name in layer.states:
        windows[name], windows[f"next_{name}"] = _state(layer, name, step), _state(layer, name, step + 1)
    for name in layer.between:
        windows[name] = layer.k.scratch_window(name, 0)
    y, mask = layer.result(layer.root.y), layer.root.mask
    for direction in range(layer.directions):
        time = layer.steps - 1 - step if layer.is_backwards(direction) else step
        if mask is not None:
            at, type = time * layer.batch, element_type_of_value(mask)
            windows[f"mask{direction}"] = LaunchWindow(layer.operand(mask), at, type, (layer.batch,))
        if y is not None:
            piece = layer.batch * layer.hidden
            at = (time * layer.directions + direction) * piece
            windows[f"y{direction}"] = LaunchWindow(layer.k.results[y], at, layer.element, (layer.batch, layer.hidden))
    return windows


def _start(layer: Layer, grid: Grid) -> None:
    """Initialises the states before the first step."""
    b = grid.b
    for name, value, state in zip(layer.states, layer.root.states, grid.windows, strict=True):
        state.name_hint = name
        initial = layer.buffer(grid, value)

        def element(item: Index, initial: SSAValue | None = initial, state: SSAValue = state) -> None:
            index = b.delinearize(item, [layer.directions, layer.batch, layer.hidden])
            first = b.constant(0.0, layer.element) if initial is None else b.load(initial, index)
            b.store(first, state, index)

        grid.items(layer.directions * layer.batch * layer.hidden, element)


def _step(grid: Grid, layer: Layer, phase: CellPhase, names: Sequence[str]) -> None:
    """One phase of a step."""
    b, k, o = grid.b, layer.k, grid.schedule_as(Steps)
    windows = dict(zip(names, grid.windows, strict=True))
    for name, window in windows.items():
        window.name_hint = name
    share = Share.of_grid(grid, layer.directions, layer.hidden, o.lanes, o.rows)
    given = given_by_input(layer, grid, share, phase, lambda index: b.load(windows["from_input"], index))

    def row_of(i: Index) -> tuple[SSAValue, Sequence[Index]]:
        return windows[phase.source], [share.direction, b.min(b.add(share.first, i), layer.batch - 1)]

    weights = layer.matrix(grid, layer.root.recurrence, share.direction, layer.hidden)
    vector = layer.vector(layer.hidden, layer.operand(layer.root.recurrence), k.scratch)
    sums = sums_of(b, share, phase.gates, weights, row_of, vector)

    def finish(row: Index) -> None:
        place = [share.direction, row, share.unit]

        def state(name: str) -> SSAValue:
            return b.load(windows[name], place)

        made = cell(layer, grid, phase, place, given, sums, state)
        made, y = where_kept(layer, grid, _kept(b, windows, place), made, state)
        for name, value in made.items():
            b.store(value, windows[f"next_{name}" if name in layer.states else name], place)
        if y is not None:
            _store_y(b, windows, place, y)

    own_row(b, share, layer.batch, finish)


def _kept(b: ThreadBuilder, windows: dict[str, SSAValue], place: Sequence[Index]) -> SSAValue | None:
    """Whether this direction's step lies within a batch element's sequence; None without sequence lengths."""
    masks = [windows[name] for name in ("mask0", "mask1") if name in windows]
    if not masks:
        return None
    read = [b.load(mask, [place[1]]) for mask in masks]
    return read[0] if len(read) == 1 else b.select(b.compare("eq", place[0], 0), read[0], read[1])


def _store_y(b: ThreadBuilder, windows: dict[str, SSAValue], place: Sequence[Index], value: SSAValue) -> None:
    """Stores h as y at the step's position in the sequence, which differs between directions."""
    if "y1" in windows:
        stores = [partial(b.store, value, windows[name], place[1:]) for name in ("y0", "y1")]
        b.when(b.compare("eq", place[0], 0), stores[0], stores[1])
    elif "y0" in windows:
        b.store(value, windows["y0"], place[1:])
