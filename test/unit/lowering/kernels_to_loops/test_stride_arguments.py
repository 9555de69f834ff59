"""Kernels that take strides as arguments compute the same bits as those that know them as numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from models.builder import ModelBuilder, example_inputs
from onnx import ModelProto
from xdsl.dialects import func
from xdsl.dialects.builtin import FunctionType, MemRefType, StridedLayoutAttr, f32
from xdsl.ir import Attribute

import mini_infer as mi
from mini_infer.dialects.sizes.guards import Guard, Guards
from mini_infer.dialects.sizes.sizes import Size, terms_of
from mini_infer.lowering.kernels_to_loops.stride_arguments import CallLayout, StrideVariants

WIDTH = 16
"""Channels that each layer's last kernel reads."""

Grow = Callable[[ModelBuilder, str], str]


def _convolved(b: ModelBuilder, x: str) -> str:
    return b.node("Conv", x, b.weight(8, WIDTH, 3, 3), pads=[1, 1, 1, 1])


def _pooled(b: ModelBuilder, x: str) -> str:
    return b.node("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])


def _depthwise(b: ModelBuilder, x: str) -> str:
    return b.node("Conv", x, b.weight(WIDTH, 1, 3, 3), pads=[1, 1, 1, 1], group=WIDTH)


def _softmax(b: ModelBuilder, x: str) -> str:
    return b.node("Softmax", x, axis=1)


def _gelu(b: ModelBuilder, x: str) -> str:
    return b.node("Gelu", b.node("Sin", b.node("MaxPool", x, kernel_shape=[1, 1])))


def slices(grow: Grow) -> ModelProto:
    """Results of one kernel in slices of buffers that are wider each time."""
    b = ModelBuilder("slices")
    x, outputs = b.input("x", (1, WIDTH, 12, 12)), list[str]()
    for number in range(3):
        channels, other = 8 if grow is _convolved else WIDTH, 16 * (number + 1)
        grown = grow(b, b.node("Conv", x, b.weight(WIDTH, WIDTH, 1, 1)))
        beside = b.node("Conv", x, b.weight(other, WIDTH, 1, 1))
        both = b.node("Concat", beside, grown, axis=1)
        outputs.append(b.node("Conv", both, b.weight(8, channels + other, 1, 1)))
    return b.model(outputs)


def kernels_of(engine: mi.Engine) -> int:
    """How many functions the kernel calls of an engine have."""
    return len({each.kernel for each in engine.plan.calls})


def never(_: StrideVariants, __: CallLayout) -> None:
    """Every call's function knows its strides as numbers."""


@pytest.mark.thinned(2)
@pytest.mark.parametrize("grow", [_convolved, _depthwise, _pooled, _softmax, _gelu], ids=lambda each: each.__name__)
def test_the_same_bits(grow: Grow, monkeypatch: pytest.MonkeyPatch) -> None:
    model = slices(grow)
    inputs = example_inputs(model)
    engine = mi.compile(model, threads=2)
    found = engine(inputs)
    monkeypatch.setattr(StrideVariants, "wanted", never)
    by_numbers = mi.compile(model, threads=2)
    assert kernels_of(engine) < kernels_of(by_numbers)
    for name, expected in by_numbers(inputs).items():
        np.testing.assert_array_equal(found[name], expected)


def buffer(*strides: int) -> Attribute:
    """A buffer of [2, 4, 8] floats somewhere in another one."""
    return MemRefType(f32, [2, 4, 8], StridedLayoutAttr(strides, None))


@pytest.mark.parametrize(
    ("strides", "free"),
    [
        ((32, 8, 1), ()),
        ((96, 24, 1), (24,)),
        ((100, 24, 1), (24, 100)),
        ((64, 8, 1), (64,)),
        ((0, 24, 1), (24,)),
        ((96, 24, 3), ()),
        ((8, 16, 1), (16, 8)),
    ],
)
def test_free_strides(strides: tuple[int, ...], free: tuple[int, ...]) -> None:
    call = CallLayout.of("k", [f32, buffer(*strides)], (0,))
    assert call.strides == free
    assert call.types(free) == [f32, buffer(*strides)]
    doubled = CallLayout.of("k", call.types([2 * each for each in free]), (0,))
    assert doubled.key == call.key
    assert doubled.strides == tuple(2 * each for each in free)


def test_a_function_is_used_where_its_guards_hold() -> None:
    calls = [CallLayout.of("k", [buffer(4 * row, row, 1)], (0,)) for row in (24, 40, 72)]
    variants = StrideVariants.of(calls)
    arguments = variants.wanted(calls[1])
    assert arguments is not None
    (size,) = arguments.strides
    assert isinstance(size, Size)
    assert (str(size), size.value, size.bounds) == ("stride0 * 8", 40, (24, 72))

    function = func.FuncOp("k", FunctionType.from_lists([], []))
    only_this, short = (Guards(), Guards())
    only_this.note(Guard(terms_of(size - 40), "zero", True))
    short.note(Guard(terms_of(size - 48), "positive", False))
    assert not variants.add(calls[1], arguments, only_this, function)
    assert variants.find(calls[1]) is None
    assert variants.add(calls[1], arguments, short, function)
    assert [variants.find(call) for call in calls] == [(function, [3]), (function, [5]), None]
