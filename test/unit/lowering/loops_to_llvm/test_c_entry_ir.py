"""The entry of a compiled model for C, as text."""

from __future__ import annotations

import re

import pytest

from mini_infer.lowering.loops_to_llvm.c_entry_ir import CEntry, Pointer


@pytest.mark.parametrize("digest", [0, 2**63 - 1, 2**63, 2**64 - 1])
def test_numbers_are_those_of_64_bits_with_a_sign(digest: int) -> None:
    """LLVM cuts larger ones off without a word."""
    buffers = [Pointer("x", 4), Pointer("y", 4)]
    entry = CEntry("tested", buffers, Pointer("arena", 64), Pointer("weights", 64), 1, [], 1, 128, digest)
    numbers = [int(found) for found in re.findall(r"(?<![\w.%])-?\d+", entry.ir())]
    assert min(numbers) >= -(2**63)
    assert max(numbers) < 2**63
    assert (digest + 2**63) % 2**64 - 2**63 in numbers
