"""What the driver is asked for without CuPy: maps of tensors, and what is said where it has none."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest
from fake_cupy import FakeDriver

from mini_infer.dialects.errors import ConfigError, DeviceError
from mini_infer.lowering.gpu_to_cuda.device_program import TensorMap
from mini_infer.runtime.devices.cuda import driver_calls

MAP = TensorMap(0, 0, "f16", (50, 64), (256,), (16, 32), 64)


def test_dimensions_are_told_from_the_innermost_one_on(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []

    def encode(*given: Any) -> int:
        told.extend(given)
        return 0

    library = SimpleNamespace(cuTensorMapEncodeTiled=encode)
    monkeypatch.setattr(driver_calls, "driver", lambda: library)
    made = driver_calls.encoded(MAP, 4096)
    assert made.size == 1 and made.dtype.itemsize == 128  # which CuPy passes by value
    place, element, rank, address, sizes, strides, box, steps, interleave, swizzle, promotion, fill = told
    assert place.value % 64 == 0 and address.value == 4096
    assert ([*sizes], [*strides], [*box], [*steps]) == ([64, 50], [256], [32, 16], [1, 1])
    numbers = [each.value for each in (element, rank, interleave, swizzle, promotion, fill)]
    assert numbers == [6, 2, 0, 2, 0, 0]


def test_what_the_driver_refuses_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_calls, "driver", FakeDriver)
    assert driver_calls.encoded(MAP, 4096).size == 1
    with pytest.raises(DeviceError, match=r"no map of a tensor at 0x1004: the driver's error 1, of TensorMap"):
        driver_calls.encoded(MAP, 4100)


@pytest.mark.parametrize(
    ("library", "message"),
    [(OSError("no such file"), "needs an NVIDIA driver: no such file"), (SimpleNamespace(), "must be for CUDA 12")],
)
def test_a_machine_without_such_a_driver(monkeypatch: pytest.MonkeyPatch, library: Any, message: str) -> None:
    def load(_: str) -> Any:
        if isinstance(library, OSError):
            raise library
        return library

    driver_calls.driver.cache_clear()
    monkeypatch.setattr(ctypes, "CDLL", load)
    with pytest.raises(ConfigError, match=message):
        driver_calls.encoded(MAP, 4096)
    driver_calls.driver.cache_clear()
