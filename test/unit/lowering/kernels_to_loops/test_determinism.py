"""The number of threads changes no bit: every schedule on 1, 2, 3, 4 and 7 threads. Models: test_small_models.py.

Threads are arguments of a kernel, so no machine with that many cores is needed: one runs after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle

import pytest
from graph_runs import Case
from kernel_cases import CASES
from kernel_variants import ByHand, Memory, on_other_memory

from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute

THREADS = (2, 3, 4, 7)
# With these, vectors of every width leave a tail, and there are shares that differ, or are empty.
SIZES = {schedule: (7,) if schedule in ("panels", "depthwise") else (37, 14) for schedule in CASES}


def on_dense_memory(_: InterfaceAttr) -> Iterator[Memory]:
    return iter(())


@cache
def cases_of(schedule: str) -> list[Case | ByHand]:
    """Made once: some hold random numbers."""
    return [case(size) for case, size in zip(CASES[schedule].values(), cycle(SIZES[schedule]))]


def outcomes(schedule: str, threads: int, bits: int) -> list[list[bytes]]:
    """The results of all cases of a schedule, at LLVM's full optimisation."""
    target = target_attribute(EngineConfig(threads=threads, vector_bits=bits or None))
    return [call.outcomes[0] for call in on_other_memory(cases_of(schedule), target, on_dense_memory, opt_level=3)]


@cache
def alone(schedule: str, bits: int) -> list[list[bytes]]:
    return outcomes(schedule, 1, bits)


@pytest.mark.thinned(11)
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("schedule", CASES)
def test_kernels(schedule: str, threads: int) -> None:
    assert outcomes(schedule, threads, 0) == alone(schedule, 0)


@pytest.mark.slow
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("bits", [128, 512])
@pytest.mark.parametrize("schedule", CASES)
def test_kernels_with_other_vectors(schedule: str, bits: int, threads: int) -> None:
    assert outcomes(schedule, threads, bits) == alone(schedule, bits)
