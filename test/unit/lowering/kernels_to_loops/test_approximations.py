"""Polynomials are as good as they say, and are there once."""

from __future__ import annotations

import numpy as np

from mini_infer.lowering.kernel_code.approximations import SHORT_EXP2


def test_power_of_two() -> None:
    f = np.linspace(-0.5, 0.5, 100001)
    found = np.polynomial.polynomial.polyval(f, np.array(SHORT_EXP2, np.float32).astype(np.float64))
    assert np.abs(found / np.exp2(f) - 1).max() <= 1.1e-7
