"""A complete search for a plan of at most a given height, compiled by numba.

It enumerates canonical solutions (Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
Learning", ASPLOS 2023): in a plan whose buffers are all pushed down, every buffer stands on the bottom or on another
buffer. The search builds plans from the bottom up and branches on one buffer at a time, whether it takes the lowest
place that is left to it:
- yes: its neighbours (buffers live at a common step) now stand above it. The remaining buffers may fall into components
  without a common step, which are solved separately; a component without a solution refutes the branch.
- no: in a pushed-down plan some neighbour, not yet placed, must start below the place's upper end. The buffer starts
  above the lowest such neighbour, or the branch has no plan.

The branching buffer is one whose place is the lowest of all, so that nothing will go below it. A section (a maximal set
of buffers live together) refutes a branch if the smallest lower bound of its unplaced buffers, plus their sizes and the
pinned ranges above, exceeds the height.
"""

from __future__ import annotations

import numpy as np

from .jit import compiled, compiled_entry
from .search_tables import CLEAN, LOWEST, REST, Ints, State, Tables

INFEASIBLE, FEASIBLE, OUT_OF_STEPS, OUT_OF_TRAIL, STOPPED = 0, 1, 2, 3, 4
BY_RANK, TIGHTEST = 0, 1  # tie-breaking between buffers of equal lowest place: by rank, or by fullest section

_OFFSET, _PLACE, _BOUND, _REFUSED, _LIFTER, _LIFT, _REST = 0, 1, 2, 3, 4, 5, 6  # the views of `cells`, in order
_NONE = 1 << 62

# The columns of a frame; the first four are those of a component: its buffers from, to, its sections from, to.
FROM, TO, FIRST, LAST, ASKED, MARK, TOP, NEXT, END = range(9)


@compiled_entry
def search(tables: Tables, state: State, height: int, steps: int, choice: int, stop: Ints) -> tuple[int, int]:
    """Places all buffers below `height`, trying at most `steps` placements; returns the verdict and the steps taken.

    The state must be fresh; on FEASIBLE its offsets are the plan. A `stop` other than 0 ends the search. A frame is a
    component of buffers, `buffers[frame[FROM]:frame[TO]]` (those already placed are skipped), in which `ASKED` was
    placed; the components that remain are rows NEXT to END of `groups`, of which those from NEXT on are still to be
    solved.
    """
    count = len(tables.size)
    frames = np.zeros((count + 2, 9), np.int64)
    groups = np.zeros((2 * count + 2, 4), np.int64)
    buffers = np.empty(4 * count + 4, np.int64)
    _begin(tables, state, buffers)
    frames[0, TO] = frames[0, TOP] = count
    frames[0, LAST] = len(state.rest)
    if not _propagate(tables, state, buffers, frames[0], height):
        return INFEASIBLE, 0
    frames[0, END] = _split(tables, state, buffers, 0, count, groups, 0)
    depth, taken = 0, 0
    solved = True  # whether what the frame placed is free of contradictions so far
    while True:
        if 2 * state.trail_length[0] >= len(state.trail):
            return OUT_OF_TRAIL, taken
        frame = frames[depth]
        if solved and frame[NEXT] == frame[END]:
            if depth == 0:
                return FEASIBLE, taken
            depth -= 1
            frames[depth, NEXT] += 1
            continue
        fine = True
        if solved:
            depth += 1
            frames[depth, :4] = groups[frame[NEXT]]
            frame = frames[depth]
        elif depth == 0:
            return INFEASIBLE, taken
        else:
            _undo(state, frame[MARK])
            _refuse(tables, state, frame[ASKED])
            fine = _propagate(tables, state, buffers, frame, height)
        buffer = _choose(tables, state, buffers, frame, height, choice) if fine else -1
        if buffer < 0:
            depth -= 1
            solved = False
            continue
        if taken == steps:
            return OUT_OF_STEPS, taken
        if stop[0]:
            return STOPPED, taken
        taken += 1
        frame[ASKED] = buffer
        frame[MARK] = state.trail_length[0]
        _put_down(tables, state, buffer)
        solved = _propagate(tables, state, buffers, frame, height)
        if solved:
            _regroup(tables, state, buffers, groups, frames[depth - 1], frame)


@compiled
def _regroup(tables: Tables, state: State, buffers: Ints, groups: Ints, parent: Ints, frame: Ints) -> None:
    """Writes the components of the frame's unplaced buffers; copies the buffers where half of them are placed."""
    start, end = frame[FROM], frame[TO]
    frame[TOP] = parent[TOP]
    left = 0
    for position in range(start, end):
        if state.offset[buffers[position]] < 0:
            left += 1
    if 2 * left <= end - start:
        target = frame[TOP]
        for position in range(start, end):
            if state.offset[buffers[position]] < 0:
                buffers[target] = buffers[position]
                target += 1
        start, end = frame[TOP], target
        frame[TOP] = target
    frame[NEXT] = parent[END]
    frame[END] = _split(tables, state, buffers, start, end, groups, frame[NEXT])


@compiled
def _begin(tables: Tables, state: State, buffers: Ints) -> None:
    """Initialises the lowest places; sorts buffers by first section (insertion sort: numba's is slow to compile)."""
    for buffer in range(len(tables.size)):
        state.place[buffer] = state.bound[buffer] = _fit(tables, buffer, 0)
        position = buffer
        while position > 0 and tables.first[buffers[position - 1]] > tables.first[buffer]:
            buffers[position] = buffers[position - 1]
            position -= 1
        buffers[position] = buffer


@compiled
def _split(tables: Tables, state: State, buffers: Ints, start: int, end: int, groups: Ints, group: int) -> int:
    """Writes the components (without a common section) from row `group` on; returns the row after them."""
    reach = -1
    for position in range(start, end):
        buffer = buffers[position]
        if state.offset[buffer] < 0:
            if tables.first[buffer] >= reach:
                groups[group, FROM] = position
                groups[group, FIRST] = tables.first[buffer]
                group += 1
            reach = max(reach, tables.last[buffer])
            groups[group - 1, TO] = position + 1
            groups[group - 1, LAST] = reach
    return group


@compiled
def _set(state: State, cell: int, value: int) -> None:
    length = state.trail_length[0]
    if 2 * length < len(state.trail):
        state.trail[2 * length] = cell
        state.trail[2 * length + 1] = state.cells[cell]
        state.trail_length[0] = length + 1
    state.cells[cell] = value


@compiled
def _set_buffer(state: State, window: int, buffer: int, value: int) -> None:
    _set(state, window * len(state.offset) + buffer, value)


@compiled
def _undo(state: State, mark: int) -> None:
    length = state.trail_length[0]
    while length > mark:
        length -= 1
        state.cells[state.trail[2 * length]] = state.trail[2 * length + 1]
    state.trail_length[0] = length


@compiled
def _fit(tables: Tables, buffer: int, offset: int) -> int:
    """The lowest aligned offset from the given one on that is clear of the pinned ranges the buffer meets."""
    offset = _aligned(tables, buffer, offset)
    for block in range(tables.block_start[buffer], tables.block_start[buffer + 1], 2):
        if offset + tables.size[buffer] > tables.blocks[block] and offset < tables.blocks[block + 1]:
            offset = _aligned(tables, buffer, tables.blocks[block + 1])
    return offset


@compiled
def _aligned(tables: Tables, buffer: int, offset: int) -> int:
    unit = tables.align[buffer]
    return offset if unit == 1 else (offset + unit - 1) // unit * unit


@compiled
def _put_down(tables: Tables, state: State, buffer: int) -> None:
    """Places the buffer at its lowest place; its neighbours then start above it."""
    _set_buffer(state, _OFFSET, buffer, state.place[buffer])
    end = state.place[buffer] + tables.size[buffer]
    for k in range(tables.section_start[buffer], tables.section_start[buffer + 1]):
        section = tables.sections[k]
        _set(state, _REST * len(state.offset) + section, state.rest[section] - tables.size[buffer])
        state.dirty[section] = LOWEST if state.lowest[section] == buffer else max(REST, state.dirty[section])
    for k in range(tables.neighbour_start[buffer], tables.neighbour_start[buffer + 1]):
        other = tables.neighbours[k]
        if state.offset[other] < 0 and state.place[other] < end:
            place = _fit(tables, other, end)
            _set_buffer(state, _PLACE, other, place)
            if place > state.bound[other]:
                _raise_bound(tables, state, other, place)
            elif place < state.bound[other]:
                _set_buffer(state, _REFUSED, other, place)
                _set_buffer(state, _LIFTER, other, -1)


@compiled
def _refuse(tables: Tables, state: State, buffer: int) -> None:
    """Forbids the buffer its lowest place, and its twins the same one: their plans differ only in names."""
    place = state.place[buffer]
    while buffer >= 0:
        if state.offset[buffer] < 0 and state.place[buffer] == place:
            _set_buffer(state, _REFUSED, buffer, place)
            _set_buffer(state, _LIFTER, buffer, -1)
        buffer = tables.twin[buffer]


@compiled
def _raise_bound(tables: Tables, state: State, buffer: int, bound: int) -> None:
    _set_buffer(state, _BOUND, buffer, bound)
    for k in range(tables.section_start[buffer], tables.section_start[buffer + 1]):
        if state.lowest[tables.sections[k]] == buffer:
            state.dirty[tables.sections[k]] = LOWEST


@compiled
def _lowest_end(tables: Tables, state: State, lifter: int, place: int) -> int:
    """The lowest end of the lifter at which it reaches above the place."""
    return max(place + 1, state.bound[lifter] + tables.size[lifter])


@compiled
def _lifted(tables: Tables, state: State, buffer: int) -> int:
    """The lowest start of a refused buffer: on a neighbour that reaches into its place; -1 if none can."""
    place = state.place[buffer]
    lifter = state.lifter[buffer]
    best = state.lift[buffer]
    if lifter < 0 or state.offset[lifter] >= 0 or _lowest_end(tables, state, lifter, place) > best:
        lifter, best = -1, _NONE
        for k in range(tables.neighbour_start[buffer], tables.neighbour_start[buffer + 1]):
            other = tables.neighbours[k]
            if state.offset[other] < 0 and state.bound[other] < place + tables.size[buffer]:
                end = _lowest_end(tables, state, other, place)
                if end < best:
                    lifter, best = other, end
        if lifter < 0:
            return -1
        _set_buffer(state, _LIFTER, buffer, lifter)
        _set_buffer(state, _LIFT, buffer, best)
    return _fit(tables, buffer, best)


@compiled
def _propagate(tables: Tables, state: State, buffers: Ints, frame: Ints, height: int) -> bool:
    """Raises bounds of refused buffers and checks sections up to a fixed point; False on a contradiction."""
    changed = True
    while changed:
        changed = False
        for section in range(frame[FIRST], frame[LAST]):
            if state.dirty[section] != CLEAN and not _check_section(tables, state, section, height):
                _forget_changes(state, frame)
                return False
        for position in range(frame[FROM], frame[TO]):
            buffer = buffers[position]
            if state.offset[buffer] < 0 and state.refused[buffer] == state.place[buffer]:
                bound = _lifted(tables, state, buffer)
                if bound < 0 or bound + tables.size[buffer] > height:
                    _forget_changes(state, frame)
                    return False
                if bound > state.bound[buffer]:
                    _raise_bound(tables, state, buffer, bound)
                    changed = True
    return True


@compiled
def _forget_changes(state: State, frame: Ints) -> None:
    """Clears the change marks of a frame whose changes are about to be undone."""
    for section in range(frame[FIRST], frame[LAST]):
        state.dirty[section] = CLEAN


@compiled
def _check_section(tables: Tables, state: State, section: int, height: int) -> bool:
    """Whether the section's unplaced buffers fit between their smallest lower bound and the height."""
    search_lowest = state.dirty[section] == LOWEST
    state.dirty[section] = CLEAN
    if state.rest[section] == 0:
        return True
    lowest = state.lowest[section]
    if search_lowest:
        lowest = -1
        for k in range(tables.member_start[section], tables.member_start[section + 1]):
            buffer = tables.members[k]
            if state.offset[buffer] < 0 and (lowest < 0 or state.bound[buffer] < state.bound[lowest]):
                lowest = buffer
        _set(state, _REST * len(state.offset) + len(state.rest) + section, lowest)
    floor = state.bound[lowest]
    need = floor + state.rest[section]
    for wall in range(tables.wall_start[section], tables.wall_start[section + 1], 2):
        need += max(0, tables.walls[wall + 1] - max(floor, tables.walls[wall]))
    return need <= height


@compiled
def _choose(tables: Tables, state: State, buffers: Ints, frame: Ints, height: int, choice: int) -> int:
    """The branching buffer: lowest place, then (by `choice`) fullest section, then rank; -1 if none has a place."""
    best, best_place, best_slack, best_rank = -1, 0, 0, 0
    for position in range(frame[FROM], frame[TO]):
        buffer = buffers[position]
        place = state.place[buffer]
        if state.offset[buffer] >= 0 or state.refused[buffer] == place or (best >= 0 and place > best_place):
            continue
        slack = 0
        if choice == TIGHTEST:
            slack = _NONE
            for k in range(tables.section_start[buffer], tables.section_start[buffer + 1]):
                section = tables.sections[k]
                slack = min(slack, height - place - state.rest[section])
        rank = tables.rank[buffer]
        if best < 0 or place < best_place or slack < best_slack or (slack == best_slack and rank < best_rank):
            best, best_place, best_slack, best_rank = buffer, place, slack, rank
    return best
