"""What the driver is asked for directly, as CuPy has no binding for it: maps of tensors as kernels take them.

Names, numbers and the order of dimensions are those of the CUDA driver API (cuTensorMapEncodeTiled).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ....dialects.errors import ConfigError, DeviceError
from ...device import Array

if TYPE_CHECKING:
    from ....lowering.gpu_to_cuda.device_program import TensorMap

LIBRARY = "libcuda.so.1"
NBYTES, ALIGNED = 128, 64  # of a CUtensorMap
_TYPES = {"f16": 6, "f32": 7, "bf16": 9}  # CUtensorMapDataType
_SWIZZLES = {0: 0, 32: 1, 64: 2, 128: 3}  # CUtensorMapSwizzle
_NONE = 0  # of CUtensorMapInterleave and CUtensorMapL2promotion; of CUtensorMapFloatOOBfill: zeros


@cache
def driver() -> Any:
    """The driver's library. Raises ConfigError for one that knows no maps of tensors."""
    try:
        library = ctypes.CDLL(LIBRARY)
    except OSError as error:
        raise ConfigError(f"the device 'cuda' needs an NVIDIA driver: {error}") from None
    if not hasattr(library, "cuTensorMapEncodeTiled"):
        raise ConfigError("the driver has no maps of tensors (cuTensorMapEncodeTiled): it must be for CUDA 12 or later")
    return library


def encoded(map: TensorMap, address: int) -> Array:
    """The map of a tensor at an address, as an array of one element. Raises DeviceError for what can't be mapped."""
    memory = ctypes.create_string_buffer(NBYTES + ALIGNED)
    place = ctypes.addressof(memory) + -ctypes.addressof(memory) % ALIGNED
    rank = len(map.sizes)
    error = driver().cuTensorMapEncodeTiled(
        ctypes.c_void_p(place),
        ctypes.c_int(_TYPES[map.element]),
        ctypes.c_uint32(rank),
        ctypes.c_void_p(address),
        _from_innermost(ctypes.c_uint64, map.sizes),
        _from_innermost(ctypes.c_uint64, map.strides),
        _from_innermost(ctypes.c_uint32, map.box),
        (ctypes.c_uint32 * rank)(*[1] * rank),
        ctypes.c_int(_NONE),
        ctypes.c_int(_SWIZZLES[map.swizzle]),
        ctypes.c_int(_NONE),
        ctypes.c_int(_NONE),
    )
    if error:
        raise DeviceError(f"no map of a tensor at {address:#x}: the driver's error {error}, of {map}")
    return np.frombuffer(ctypes.string_at(place, NBYTES), f"V{NBYTES}")


def _from_innermost(kind: Any, numbers: Sequence[int]) -> Any:
    """An array of C with dimensions from the innermost one on."""
    return (kind * len(numbers))(*reversed(numbers))
