"""OrtValue and OrtDevice: tensors that callers hold and bind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ..device import Array
from ..memory.host_memory import as_array
from .element_texts import dtype_of, type_number, type_text

_OTHER_DEVICE = "There is memory on the device 'cpu' only"


class OrtDevice:
    """A device: this process's CPU."""

    def __init__(self, name: str, number: int) -> None:
        self._name, self._number = name, number

    @staticmethod
    def make(name: str, number: int) -> OrtDevice:
        """The device of a name and number. Raises RuntimeError for any but "cpu"."""
        check_device(name)
        return OrtDevice(name, number)

    def device_id(self) -> int:
        """Its number."""
        return self._number

    def device_type(self) -> int:
        """Its kind: 0, a CPU."""
        return 0

    def device_mem_type(self) -> int:
        """The kind of its memory: 0, the usual one."""
        return 0


class OrtValue:
    """A tensor in this process's memory. It shares the memory of the contiguous array that it was made from."""

    def __init__(self, array: Array) -> None:
        self._array = array

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Any, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """A value over an array's memory; over a copy if it is not contiguous.

        Raises RuntimeError for what is no array of numbers, and for other devices.
        """
        check_device(device_type)
        if not isinstance(numpy_obj, np.ndarray) or cast("Array", numpy_obj).dtype.kind in "USO":
            raise RuntimeError("Creation of OrtValues is currently only supported from non-string numpy arrays")
        return OrtValue(np.ascontiguousarray(cast("Array", numpy_obj)).reshape(cast("Array", numpy_obj).shape))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int], element_type: Any, device_type: str = "cpu", device_id: int = 0, vendor_id: int = -1
    ) -> OrtValue:
        """A value in new memory, whose contents are undefined.

        Raises RuntimeError for other devices, and for a shape or a type that no tensor has.
        """
        check_device(device_type)
        dtype = dtype_of(element_type)
        try:
            return OrtValue(np.empty(tuple(shape), dtype))
        except ValueError as error:
            raise RuntimeError(f"no tensor has the shape {[*shape]}: {error}") from None

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Any, onnx_element_type: int) -> OrtValue:
        """A value over an array's memory, whose elements are of ONNX's type of this number, and of the same size.

        Raises TypeError for what is no array, RuntimeError for a type that there is not, or of another size.
        """
        if not isinstance(data, np.ndarray):
            raise TypeError(f"ortvalue_from_numpy_with_onnx_type() takes an array, not {type(data).__name__}")
        value, dtype = OrtValue.ortvalue_from_numpy(data), dtype_of(onnx_element_type)
        if value.numpy().itemsize != dtype.itemsize:
            raise RuntimeError(f"elements of {value.numpy().itemsize} bytes can't be {dtype}, of {dtype.itemsize}")
        return OrtValue(value.numpy().view(dtype))

    @staticmethod
    def from_dlpack(data: object, is_bool_tensor: bool = False) -> OrtValue:
        """A value over the memory of another library's tensor; `is_bool_tensor`: bytes are truth values."""
        array = as_array(data)
        return OrtValue(array.view(np.bool_) if is_bool_tensor else array)

    def numpy(self) -> Array:
        """The tensor as an array over the same memory."""
        return self._array

    def shape(self) -> list[int]:
        """Its sizes."""
        return [*self._array.shape]

    def data_type(self) -> str:
        """Its type, such as "tensor(float)"."""
        return type_text(self._array.dtype)

    def element_type(self) -> int:
        """ONNX's number of its element type."""
        return type_number(self._array.dtype)

    def device_name(self) -> str:
        """The device: "cpu"."""
        return "cpu"

    def data_ptr(self) -> int:
        """The address of its first element."""
        return int(self._array.ctypes.data)

    def has_value(self) -> bool:
        """Whether there is a tensor: always."""
        return True

    def is_tensor(self) -> bool:
        """Whether it is a tensor: always."""
        return True

    def is_sparse_tensor(self) -> bool:
        """Whether it is a sparse tensor: never."""
        return False

    def is_tensor_sequence(self) -> bool:
        """Whether it is a sequence of tensors: never."""
        return False

    def tensor_size_in_bytes(self) -> int:
        """Bytes of its elements."""
        return int(self._array.nbytes)

    def update_inplace(self, np_arr: Array) -> None:
        """Copies an array's elements to its memory. Raises RuntimeError for another size or type."""
        if np_arr.size != self._array.size or np_arr.dtype != self._array.dtype:
            raise RuntimeError("The input size of numpy arrays does not match the size of the OrtValue.")
        np.copyto(self._array, np_arr.reshape(self._array.shape))

    def __dlpack__(self, **options: Any) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._array, dtype=dtype, copy=copy)


def check_device(name: object) -> None:
    """Raises RuntimeError for another device than the CPU."""
    if not isinstance(name, str) or name.partition(":")[0].lower() != "cpu":
        raise RuntimeError(f"{_OTHER_DEVICE}, not on {name!r}")
