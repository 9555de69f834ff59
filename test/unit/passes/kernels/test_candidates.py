"""Every schedule that can carry a contraction out computes the same: the same bits where sums have one order."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import cycle

import numpy as np
import pytest
from kernel_cases import CASES
from kernel_variants import Call, Choose, Memory, on_other_memory, small_target, some

from mini_infer.dialects.graph.values import Array, element_type_of_value, numpy_dtype
from mini_infer.dialects.kernel.kernel_attributes import FormAttr, InterfaceAttr
from mini_infer.passes.kernels.schedules import schedules_for

WAYS = tuple(way.name for way in schedules_for("cpu", "contraction"))
PACKED = (
    "columns",
    "rows",
    "one row",
    "gates",
    "gates, rows",
    "pixels",
    "windows",
    "filters",
    "groups",
)  # cases with weights alone
TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-14}


def none(_: InterfaceAttr) -> Iterator[Memory]:
    return iter(())


def calls_by(way: str, cases: str, names: Collection[str], on: Choose) -> list[Call]:
    """The contractions of some cases, carried out in one way, on dense memory and what is chosen beside."""
    made = [case(size) for (name, case), size in zip(CASES[cases].items(), cycle((5, 3, 7))) if name in names]
    allowed = {way, "panels_by_rows"} if way == "panels" else {way}  # which of the two it is hangs on the sizes
    forbid = [other for other in WAYS if other not in (*allowed, "elements")]  # the only one for the ops around
    calls = on_other_memory(made, small_target(threads=3), on, forbid=forbid)
    for call in calls:
        call.check()
    contractions = [call for call in calls if call.kernel.form == FormAttr.of("contraction")]
    assert {way} <= {call.schedule for call in contractions} <= allowed
    return [call for call in contractions if call.plain is None]


def results(calls: Sequence[Call]) -> list[Array]:
    """What they computed on memory of their own."""
    return [
        np.frombuffer(data, numpy_dtype(element_type_of_value(value)))
        for call in calls
        for value, data in zip(call.kernel.terminator.arguments, call.outcomes[0], strict=True)
    ]


@pytest.mark.thinned(3)
@pytest.mark.parametrize(
    ("way", "cases", "names"),
    [
        ("rows_before_panels", "panels", PACKED),
        ("rows_before_panels", "panels_by_rows", CASES["panels_by_rows"]),
        ("panels", "blocked_panels", CASES["blocked_panels"]),
        ("elements", "panels", CASES["panels"]),
        ("elements", "depthwise", CASES["depthwise"]),
        ("panels", "depthwise", CASES["depthwise"]),
        ("panels", "winograd", ("pixels",)),
        ("elements", "winograd", ("pixels",)),
    ],
)
def test_every_candidate_computes_the_same(way: str, cases: str, names: Collection[str]) -> None:
    usual, other = calls_by(cases, cases, names, none), calls_by(way, cases, names, some)
    for expected, found in zip(results(usual), results(other), strict=True):
        if {cases, way} <= {"panels", "panels_by_rows", "rows_before_panels", "blocked_panels"}:
            assert found.tobytes() == expected.tobytes()
        else:
            np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE[expected.dtype] * 32)
