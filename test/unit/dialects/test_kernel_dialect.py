"""The kernel dialect from Python: attributes of plain values, what they answer, and their text."""

from __future__ import annotations

from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.packing.packings import ConvPacking, DepthwisePacking, PanelPacking
from mini_infer.dialects.kernel.calls import Kernel
from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr, MoveAttr, ScheduleAttr
from mini_infer.dialects.kernel.targets import CpuAttr, target_of

WIDTH = st.integers(1, 64)
PACKING = st.one_of(
    st.builds(PanelPacking, WIDTH, st.booleans()),
    st.builds(ConvPacking, WIDTH, WIDTH),
    st.builds(DepthwisePacking, WIDTH),
)
INDICES = st.lists(st.integers(0, 5), max_size=3)
PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=3)
BYTES = st.integers(0, 1 << 40)


def moves(rank: int) -> st.SearchStrategy[MoveAttr]:
    """Moves of windows with so many dimensions."""
    number = st.integers(0, 99)
    numbers = st.lists(number, min_size=rank, max_size=rank)
    window = st.tuples(number, numbers)
    return st.builds(MoveAttr.of, number, number, numbers, window, window)


MOVES = st.lists(st.integers(0, 3).flatmap(moves), max_size=3)


def reread(attribute: Attribute) -> Attribute:
    """An attribute, printed and parsed."""
    context = MiniContext()
    context.load_dialect(Kernel)
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    return Parser(context, stream.getvalue()).parse_attribute()


@given(
    st.fixed_dictionaries(
        {
            "inplace": PAIRS,
            "moves": MOVES,
            "strided_operands": INDICES,
            "strided_results": INDICES,
            "packed": st.dictionaries(st.integers(0, 5), PACKING, max_size=3),
            "scratch": BYTES,
            "per_thread": BYTES,
        }
    )
)
def test_every_interface_is_read_back(values: dict[str, object]) -> None:
    interface = InterfaceAttr.of(**values)  # pyright: ignore[reportArgumentType]
    assert reread(interface) == interface


@given(st.dictionaries(st.from_regex("[a-z_]+", fullmatch=True), st.integers(1, 1 << 40), max_size=4))
def test_every_schedule_is_read_back(options: dict[str, int]) -> None:
    schedule = ScheduleAttr.of("panels", **options)
    assert reread(schedule) == schedule
    assert schedule.numbers() == options


def test_interface_in_plain_values() -> None:
    interface = InterfaceAttr.of(inplace=[(2, 0)], scratch=100, per_thread=64)
    assert interface.inplace_pairs == [(2, 0)]
    assert interface.scratch_bytes(3) == 100 + 3 * 64


def test_target() -> None:
    target = CpuAttr.of(vector_bits=512, cpu="znver5")
    assert (target.lanes(32), target.lanes(64), target.lanes(1024)) == (16, 8, 1)
    assert reread(target) == target
    module = ModuleOp([])
    assert target_of(module) == CpuAttr.of()
    module.attributes["kernel.target"] = target
    assert target_of(module) == target


@pytest.mark.parametrize(
    ("options", "fact"),
    [
        ({"vector_bits": 384}, "vectors have 384 bits"),
        ({"vector_bits": 0}, "vectors have 0 bits"),
        ({"threads": 0}, "there are 0 threads"),
        ({"registers": 0}, "there are 0 registers"),
    ],
)
def test_impossible_targets(options: dict[str, int], fact: str) -> None:
    with pytest.raises(VerifyException, match=fact):
        CpuAttr.of(**options)  # pyright: ignore[reportArgumentType]
