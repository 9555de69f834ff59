"""Small models have too little work for several threads; tests of threads want it shared all the same."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from mini_infer.dialects.graph.ops.structure import KernelOp
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.passes.kernels import limit_threads
from mini_infer.passes.memory import share_threads


@contextmanager
def everything_shared() -> Generator[None]:
    """Models that are compiled meanwhile get all the threads they ask for, and each stage a share for each."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (limit_threads, share_threads):
            patch.setattr(module, "nanoseconds", _an_hour)
        yield


def _an_hour(kernel: KernelOp, target: CpuAttr) -> int:
    return 3600 * 10**9
