"""What all Python tests share.

Of a test marked `thinned(n)`, each n-th case is quick, the others are slow: n has no divisor in common with the
numbers of its parameters, so that all of their values come up.
"""

from __future__ import annotations

import gc
import shutil
from collections import Counter
from pathlib import Path

import kernel_runs
import numpy as np
import pytest
from hypothesis import settings
from no_cache import compile_always

from mini_infer.dialects.sizes.guards import Guards
from mini_infer.runtime.kept import tuning_store

compile_always()
# Examples are the same in every run, and a slow machine is no failure.
settings.register_profile("mini_infer", derandomize=True, deadline=None)
settings.load_profile("mini_infer")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gpu", action="store_true", help="check kernels on an emulated GPU too, not on the CPU only")
    parser.addoption("--gpu-text", action="store_true", help="the same, by the printed text as well: it is slow")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--gpu"):
        kernel_runs.DEVICES.add("gpu")
    if config.getoption("--gpu-text"):
        kernel_runs.DEVICES.update(("gpu", "gpu-text"))


@pytest.hookimpl(tryfirst=True)  # before those marked slow are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    seen = Counter[str]()
    for item in items:
        marker = item.get_closest_marker("thinned")
        if marker is not None:
            test = item.nodeid.partition("[")[0]
            if seen[test] % marker.args[0]:
                item.add_marker("slow")
            seen[test] += 1


def pytest_collection_finish() -> None:
    """What is there before the first test stays: no need to look through it for garbage again and again.

    IR is garbage soon: with a fifth of this threshold a collection found more of it alive, and took half as long again.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 50)


@pytest.fixture(autouse=True)
def _the_same_numbers(request: pytest.FixtureRequest) -> None:  # pyright: ignore[reportUnusedFunction]
    """A file's random numbers begin anew in each test, whichever others ran before it in the same process."""
    random = getattr(request.node.getparent(pytest.Module).obj, "Random", None)
    if isinstance(random, np.random.Generator):
        random.bit_generator.state = np.random.default_rng(0).bit_generator.state


@pytest.fixture
def with_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Compiled models are kept, as they are for users, in a folder of this test alone: it finds what it compiled."""
    folder = tmp_path_factory.mktemp("kept")
    monkeypatch.setenv("MINI_INFER_CACHE", str(folder))
    return folder


@pytest.fixture(autouse=True)
def _nothing_was_measured(  # pyright: ignore[reportUnusedFunction]
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody has tuned on this machine is no test's business; decisions of a test end with it."""
    folder = tmp_path_factory.getbasetemp() / "tuning"
    shutil.rmtree(folder, ignore_errors=True)
    monkeypatch.setattr(tuning_store, "user_cache", lambda part: folder / part)  # pyright: ignore


@pytest.fixture(autouse=True)
def _no_size_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    """A size of run time that becomes a number where nothing says so fails the test."""
    monkeypatch.setattr(Guards, "explicit", True)
