"""tools/bench/block_products.py: products timed beside ONNX Runtime, and mistakes in one line."""

from __future__ import annotations

import re
from typing import Any

import pytest

from mini_infer.dialects.errors import ConfigError
from mini_infer.tools.bench.block_products import block_products

SMALL: dict[str, Any] = {"layers": 2, "width": 64, "inner": 96, "seconds": 0.001}


def test_a_line_for_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    block_products(bits=[2, 4], block=[32], level=[0, 4], rows=[3], threads=[1], **SMALL)
    _, *lines = capsys.readouterr().out.splitlines()
    expected = r"([24]) bits, blocks of  32, level ([04]),   3 rows, 1 threads: +[\d.]+ ms, ratio of medians"
    found = [re.match(expected, line) for line in lines]
    assert [each.groups() for each in found if each] == [("2", "0"), ("2", "4"), ("4", "0"), ("4", "4")]
    errors = [float(re.findall(r"errors ([\d.e-]+)", line)[0]) for line in lines]
    assert [error < 1e-5 for error in errors] == [True, False, True, False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": [3]}, "--bits 3: there are 2, 4, 8"),
        ({"level": [5]}, "--level 5: there are 0, 1, 2, 3, 4"),
        ({"block": [24]}, "--block 24: blocks are powers of two from 16 on"),
    ],
)
def test_mistakes_are_told_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        block_products(**options)
