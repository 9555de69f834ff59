"""Tests that need an NVIDIA GPU and CuPy; they are skipped, with what is missing, where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from mini_infer.dialects.errors import ConfigError
from mini_infer.runtime.device import device_named

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before those marked are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    try:
        if mine:
            device_named("cuda").open()
        missing = None
    except ConfigError as error:
        missing = pytest.mark.skip(reason=str(error))
    for item in mine:
        item.add_marker("cuda")
        if missing is not None:
            item.add_marker(missing)
