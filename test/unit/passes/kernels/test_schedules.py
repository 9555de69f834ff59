"""Schedules as typed options: written to an attribute and read back, refused where they make none; scratch in parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, f64, i8

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.kernel.kernel_attributes import ScheduleAttr
from mini_infer.passes.kernels.schedules.cpu.depthwise import Depthwise
from mini_infer.passes.kernels.schedules.cpu.products.panels import Panels
from mini_infer.passes.kernels.schedules.cpu.products.pooled_panels import PooledPanels
from mini_infer.passes.kernels.schedules.scratch import ScratchLayout

TILE = st.integers(1, 1024)
COUNT = st.integers(0, 2**31 - 1)
PANELS = {"mr": 6, "nr": 16, "lanes": 8, "inline": 1}
TILES = (TILE, TILE, TILE, st.booleans(), COUNT)


@given(st.one_of(st.builds(Panels, *TILES), st.builds(PooledPanels, *TILES, TILE)))
def test_options_are_read_back(schedule: Panels | PooledPanels) -> None:
    assert type(schedule).of(schedule.attribute()) == schedule


def test_flags_are_flags_and_what_is_usual_is_left_out() -> None:
    assert Panels(6, 16, 8, True).attribute() == ScheduleAttr.of("panels", **PANELS)
    assert Depthwise(1, 2, 3, 4, False).attribute().numbers()["inline"] == 0
    assert Panels.of(ScheduleAttr.of("panels", **PANELS)).inline is True


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"mr": 6}, "the schedule 'panels' needs a number 'nr'"),
        (
            {**PANELS, "rows": 1},
            "the schedule 'panels' has no option 'rows'; it has mr, nr, lanes, inline, prefetch, matrix$",
        ),
        ({**PANELS, "mr": 0}, "the schedule 'panels' has mr = 0; it must be at least 1"),
        ({**PANELS, "nr": 1025}, "the schedule 'panels' has nr = 1025; it must be at most 1024"),
        ({**PANELS, "inline": 2}, "the schedule 'panels' has inline = 2; it must be at most 1"),
        ({**PANELS, "prefetch": -1}, "the schedule 'panels' has prefetch = -1; it must be at least 0"),
    ],
)
def test_options_that_make_no_schedule(options: dict[str, int], fact: str) -> None:
    with pytest.raises(CompileError, match=f"^{fact}"):
        Panels.of(ScheduleAttr.of("panels", **options))


PARTS = st.lists(st.tuples(st.sampled_from([f32, f64, i8]), st.lists(st.integers(0, 9), max_size=3)), max_size=5)


@given(PARTS, PARTS)
def test_parts_of_scratch_are_aligned_and_apart(
    own: list[tuple[object, list[int]]], shared: list[tuple[object, list[int]]]
) -> None:
    layout = ScratchLayout.of(
        [(str(i), element, shape) for i, (element, shape) in enumerate(own)],  # pyright: ignore[reportArgumentType]
        [(str(i), element, shape) for i, (element, shape) in enumerate(shared)],  # pyright: ignore[reportArgumentType]
    )
    for parts, room in ((layout.own, layout.per_thread), (layout.shared, layout.together)):
        ends = [0, *(part.end for part in parts)]
        for part, before in zip(parts, ends, strict=False):
            size = {f32: 4, f64: 8, i8: 1}[part.element]  # pyright: ignore[reportArgumentType]
            assert part.offset % size == 0
            assert part.offset >= before
        assert max(ends) <= room < max(ends) + 64
        assert room % 64 == 0
