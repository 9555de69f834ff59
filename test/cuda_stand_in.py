"""A plugin that runs the tests of a GPU without one, to try them out: pytest -p cuda_stand_in test/cuda

CuPy's stand-in takes the place of CuPy, and kernels are run as C++.
"""

from __future__ import annotations

import pytest
from fake_cupy import FakeCupy, forget, text_as_cubin

from mini_infer.runtime.devices.cuda import cuda_device


def pytest_configure() -> None:
    patch = pytest.MonkeyPatch()
    FakeCupy().install(patch)
    patch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    forget()
