"""Storage and Tensor: bytes that are owned or borrowed, and typed views of them that stay inside."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import mini_infer as mi
from mini_infer.runtime.device import Array
from mini_infer.runtime.memory.host_memory import aligned_bytes, as_array

F32 = np.dtype(np.float32)


class OnlyDlpack:
    """Something that speaks DLPack and nothing else; perhaps from another device."""

    def __init__(self, array: Array, device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack__(self, **options: Any) -> Any:
        if self.device != 1:
            raise BufferError(f"device {self.device} is not the CPU")
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0


class Bfloat16:
    """A producer of bfloat16, which numpy can't export: words under another name, as DLPack has them."""

    def __init__(self, array: Array, versioned: bool, kind: int = 4) -> None:
        self.words, self.versioned, self.kind = array.view(np.uint16), versioned, kind

    def __dlpack__(self, **options: Any) -> Any:
        if options and not self.versioned:
            raise TypeError("unexpected keyword argument")
        capsule = self.words.__dlpack__(**options)
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        name, place = (b"dltensor_versioned", 52) if "max_version" in options else (b"dltensor", 20)
        ctypes.c_uint8.from_address(pointer(capsule, name) + place).value = self.kind
        return capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def rows(count: int = 3, columns: int = 4) -> Array:
    return np.arange(count * columns, dtype=np.float32).reshape(count, columns)


@pytest.mark.parametrize("alignment", [1, 2, 64, 256, 4096])
@pytest.mark.parametrize("capacity", [0, 1, 1000])
def test_owned_storage_is_zeroed_and_aligned(capacity: int, alignment: int) -> None:
    storage = mi.Storage(capacity, alignment=alignment)
    whole = (capacity + alignment - 1) // alignment * alignment
    assert (storage.capacity, storage.size, storage.device) == (whole, capacity, "cpu")
    assert (storage.owned, storage.writable, storage.data.size) == (True, True, whole)
    assert storage.address % alignment == 0 or not capacity
    assert storage.alignment == alignment
    assert not storage.data.any()


def test_storage_is_aligned_to_256_bytes_unless_told_otherwise() -> None:
    assert all(mi.Storage.allocate(size).address % 256 == 0 for size in range(1, 50))
    assert mi.Tensor.empty([3], np.float32).storage.alignment >= 256


@pytest.mark.parametrize("alignment", [0, -64, 3, 96])
def test_alignment_is_a_power_of_two(alignment: int) -> None:
    with pytest.raises(mi.ConfigError, match=rf"alignment {alignment} is not a power of two"):
        mi.Storage.allocate(16, alignment)


def test_capacity_is_not_negative() -> None:
    with pytest.raises(mi.ConfigError, match="capacity is -1; it must be an integer of at least 0"):
        mi.Storage.allocate(-1)


@pytest.mark.parametrize("dlpack", [False, True])
def test_borrowed_storage_is_the_callers_memory(dlpack: bool) -> None:
    array = rows()
    storage = mi.Storage.borrow(OnlyDlpack(array) if dlpack else array)
    assert (storage.address, storage.capacity, storage.owned) == (array.ctypes.data, array.nbytes, False)
    storage.data[:4] = np.array([7], np.float32).view(np.uint8)
    assert array[0, 0] == 7


@pytest.mark.parametrize("versioned", [False, True])
def test_bfloat16_is_taken_from_dlpack(versioned: bool) -> None:
    array = rows().astype(ml_dtypes.bfloat16)
    alive = weakref.ref(array)
    found = as_array(Bfloat16(array.T, versioned))
    assert found.dtype == array.dtype and found.strides == array.T.strides
    assert found.ctypes.data == array.ctypes.data and (found == array.T).all()
    assert found.flags.writeable == versioned  # numpy takes what doesn't say so for read-only
    del array
    gc.collect()
    assert alive() is not None and float(found[1, 2]) == 9
    del found
    gc.collect()
    assert alive() is None


def test_elements_that_nobody_knows_are_refused() -> None:
    array = rows().astype(ml_dtypes.bfloat16)
    with pytest.raises(mi.InvalidInputError, match="DLPack memory that numpy can't take: Unsupported dtype"):
        as_array(Bfloat16(array, True, kind=9))


def test_borrowed_storage_keeps_its_owner() -> None:
    array = np.ones(1000, np.float32)
    alive = weakref.ref(array)
    storage = mi.Storage.borrow(array)
    del array
    gc.collect()
    assert alive() is not None and storage.data.view(np.float32).sum() == 1000


def test_borrowed_memory_may_be_read_only() -> None:
    array = rows()
    array.flags.writeable = False
    storage = mi.Storage.borrow(array)
    assert not storage.writable
    assert not mi.Tensor(storage, (3, 4), F32).numpy().flags.writeable


def test_empty_memory_can_be_borrowed() -> None:
    assert mi.Storage.borrow(np.zeros((0, 3))).capacity == 0


def test_only_contiguous_memory_can_be_borrowed() -> None:
    with pytest.raises(mi.InvalidInputError, match="must be contiguous"):
        mi.Storage.borrow(rows()[:, ::2])


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ([1, 2, 3], "expected a numpy array or DLPack memory, got list"),
        (OnlyDlpack(rows(), device=2), "DLPack memory that numpy can't take: device 2 is not the CPU"),
    ],
    ids=["list", "other device"],
)
def test_what_is_no_memory_is_refused(memory: object, message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=message):
        as_array(memory)


def test_overlap_is_a_byte_in_common() -> None:
    whole = aligned_bytes(96)
    first, second, third = (mi.Storage.borrow(whole[i : i + 48]) for i in (0, 48, 47))
    assert not first.overlaps(second) and not second.overlaps(first)
    assert first.overlaps(third) and third.overlaps(second) and first.overlaps(first)
    for start in (0, 7):
        empty = mi.Storage.borrow(whole, offset=start, capacity=0)
        assert not empty.overlaps(first) and not first.overlaps(empty)


def test_tensor_is_row_major_and_may_be_smaller_than_its_storage() -> None:
    tensor = mi.Tensor(mi.Storage.allocate(100), (2, 3), F32, offset=8)
    assert (tensor.nbytes, tensor.capacity, tensor.is_contiguous) == (24, 248, True)
    assert tensor.numpy().strides == (12, 4)
    tensor.numpy()[1, 2] = 5
    assert tensor.storage.data[8:32].view(np.float32)[5] == 5


@pytest.mark.parametrize("array", [rows(), rows()[:, ::2], rows()[::-1], rows().T, rows()[1, 2:3], np.zeros((2, 0))])
def test_tensor_over_an_array_has_its_strides_and_bytes(array: Array) -> None:
    tensor = mi.Tensor.from_array(array)
    assert (tensor.shape, tensor.dtype, tensor.is_contiguous) == (array.shape, array.dtype, array.flags.c_contiguous)
    np.testing.assert_array_equal(tensor.numpy(), array)
    assert tensor.numpy().ctypes.data == array.ctypes.data or not array.size


def test_dlpack_goes_out_and_in_without_a_copy() -> None:
    tensor = mi.Tensor.empty([2, 3], np.float32)
    array = np.from_dlpack(tensor)
    array[1, 1] = 3
    assert tensor.numpy()[1, 1] == 3
    back = mi.Tensor.from_array(OnlyDlpack(array))
    assert back.numpy().ctypes.data == tensor.storage.address


@pytest.mark.parametrize(
    ("shape", "offset", "strides"),
    [
        ((4,), 1, None),
        ((2, 3), 0, None),
        ((4,), -4, None),
        ((2, 2), 0, (12, 4)),
        ((4,), 8, (-4,)),
        ((2,), 0, (-4,)),
    ],
)
def test_tensor_stays_inside_its_storage(shape: tuple[int, ...], offset: int, strides: tuple[int, ...] | None) -> None:
    with pytest.raises(mi.InvalidInputError, match=r"reaches from -?\d+ to \d+, but the storage has 16 bytes"):
        mi.Tensor(mi.Storage(16, alignment=16), shape, F32, offset, strides)


@pytest.mark.parametrize(
    ("shape", "strides", "message"),
    [
        ((-1, 2), None, r"shape is \(-1, 2\); it must be"),
        ((2, 2), (4,), "1 strides don't fit the 2 dimensions"),
    ],
)
def test_shape_and_strides_make_sense(shape: tuple[int, ...], strides: tuple[int, ...] | None, message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=message):
        mi.Tensor(mi.Storage.allocate(16), shape, F32, strides=strides)


def test_strides_may_be_negative() -> None:
    storage = mi.Storage.borrow(rows(1, 4))
    np.testing.assert_array_equal(mi.Tensor(storage, (4,), F32, 12, (-4,)).numpy(), [3, 2, 1, 0])


def test_empty_tensor_fits_anywhere() -> None:
    assert mi.Tensor(mi.Storage.allocate(0), (3, 0), F32).numpy().shape == (3, 0)


def test_view_shares_storage() -> None:
    tensor = mi.Tensor.empty([2, 6], np.float32)
    view = tensor.view([3, 4])
    view.numpy()[2, 3] = 9
    assert view.storage is tensor.storage and tensor.numpy()[1, 5] == 9


def test_view_keeps_the_number_of_elements() -> None:
    with pytest.raises(mi.InvalidInputError, match=r"\[2, 6\] can't be viewed as \[2, 5\]: other number of elements"):
        mi.Tensor.empty([2, 6], np.float32).view([2, 5])
    with pytest.raises(mi.InvalidInputError, match=r"\[4, 3\] can't be viewed as \[12\]: its elements have gaps"):
        mi.Tensor.from_array(rows().T).view([12])


def test_several_tensors_lie_in_one_buffer() -> None:
    buffer = np.zeros(64, np.uint8)
    tensors = [mi.Tensor.empty([4], np.float32) for _ in range(4)]
    for index, tensor in enumerate(tensors):
        tensor.bind_external(buffer, 16 * index)
        tensor.numpy()[:] = index
    np.testing.assert_array_equal(buffer.view(np.float32), np.repeat(np.arange(4), 4))
    shared = mi.Storage.borrow(buffer)
    tensors[0].bind_external(shared, 16)
    assert tensors[0].storage is shared and tensors[0].numpy()[0] == 1


@pytest.mark.parametrize("offset", [-1, 52, 64])
def test_binding_checks_bounds_and_leaves_the_tensor_alone(offset: int) -> None:
    tensor = mi.Tensor.empty([4], np.float32)
    before = tensor.storage
    with pytest.raises(mi.InvalidInputError, match="but the storage has 64 bytes"):
        tensor.bind_external(np.zeros(16, np.float32), offset)
    assert (tensor.storage, tensor.offset) == (before, 0)


def test_metadata_changes_without_an_allocation() -> None:
    tensor = mi.Tensor.empty([2, 6], np.float32)
    storage = tensor.storage
    tensor.set_shape_metadata([5])
    assert (tensor.shape, tensor.storage, tensor.nbytes, tensor.capacity) == ((5,), storage, 20, 256)
    tensor.set_shape_metadata([64])
    with pytest.raises(mi.InvalidInputError, match="but the storage has 256 bytes"):
        tensor.set_shape_metadata([65])
    tensor.set_shape_metadata([5])
    assert tensor.shape == (5,)


def test_resize_allocates_only_what_does_not_fit() -> None:
    borrowed = np.ones(16, np.float32)
    tensor = mi.Tensor.from_array(borrowed)
    other = tensor.view([4, 4])
    tensor.resize([2, 2])
    assert tensor.storage is other.storage
    before = tensor.storage
    tensor.resize([tensor.capacity // tensor.dtype.itemsize])
    assert tensor.storage is before
    tensor.resize([5, 5])
    assert tensor.storage.owned and not tensor.numpy().any()
    assert other.numpy().sum() == 16 and borrowed.sum() == 16


class Elsewhere:
    """DLPack memory of another kind of device."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 10, 0  # ROCm


def test_tensors_come_from_dlpack() -> None:
    array = rows()
    tensor = mi.Tensor.from_dlpack(array.T)
    assert np.shares_memory(tensor.numpy(), array) and tensor.strides == array.T.strides
    again = mi.Tensor.from_dlpack(tensor)
    assert again is not tensor and again.storage.address == tensor.storage.address
    with pytest.raises(mi.InvalidInputError, match=r"^expected DLPack memory, got list"):
        mi.Tensor.from_dlpack([1.0])
    with pytest.raises(mi.InvalidInputError, match=r"^DLPack memory on a device of kind 10, which is neither "):
        mi.Tensor.from_dlpack(Elsewhere())


def test_tensor_is_on_the_cpu() -> None:
    tensor = mi.Tensor.empty([2], np.int64)
    assert tensor.to("cpu") is tensor and tensor.__dlpack_device__()[0] == 1
    with pytest.raises(mi.ConfigError, match="device 'tpu' is not supported; there is 'cpu', 'cuda'"):
        tensor.to("tpu")


def test_storage_can_be_given_other_bytes() -> None:
    storage = mi.Storage.allocate(48)
    seen = mi.Tensor(storage, [3, 4], F32)
    array = rows()
    storage.set_external(array)
    assert not storage.owned and not storage.empty
    np.testing.assert_array_equal(seen.numpy(), array)
    seen.numpy()[0, 0] = 9
    assert array[0, 0] == 9
    with pytest.raises(mi.InvalidInputError, match="borrowed memory must be contiguous"):
        storage.set_external(array.T)
    assert storage.address == array.ctypes.data


def test_a_storage_that_was_reset_is_empty_and_holds_no_tensor() -> None:
    storage = mi.Storage.borrow(rows())
    seen = mi.Tensor(storage, [3, 4], F32)
    storage.reset()
    assert storage.empty and storage.capacity == 0
    with pytest.raises(mi.InvalidInputError, match="but the storage has 0 bytes"):
        seen.numpy()
    storage.set_external(rows())
    assert seen.numpy()[2, 3] == 11


def test_a_tensor_always_tells_its_strides_and_its_device() -> None:
    tensor = mi.Tensor.empty([2, 3, 4], np.int16)
    assert (tensor.strides, tensor.device) == ((24, 8, 2), "cpu")
    tensor.set_shape_metadata([4, 6])
    assert tensor.strides == (12, 2)
    tensor.resize([5, 60])
    assert tensor.strides == (120, 2)
    turned = mi.Tensor.from_array(rows().T)
    assert turned.strides == (4, 16)
    turned.bind_external(np.zeros(12, np.float32))
    assert turned.strides == (12, 4)


def test_element_types_can_be_exchanged_in_place() -> None:
    tensor = mi.Tensor.from_array(rows())
    tensor.set_dtype(np.int32)
    np.testing.assert_array_equal(tensor.numpy(), rows().view(np.int32))
    with pytest.raises(mi.InvalidInputError, match=r"float64\[3, 4\] at byte 0 reaches from 0 to 96"):
        tensor.set_dtype(np.float64)
    assert tensor.dtype == np.int32
    tensor.set_dtype(np.int16)
    assert tensor.strides == (8, 2) and tensor.nbytes == 24 and tensor.capacity == 48


@pytest.mark.parametrize(
    ("shape", "expected"), [([12], [12]), ([2, -1], [2, 6]), ([-1], [12]), ([6, 2, 1], [6, 2, 1]), ([4, 3], [4, 3])]
)
@pytest.mark.parametrize("turned", [False, True])
def test_reshape_is_a_view_where_it_can_be(turned: bool, shape: list[int], expected: list[int]) -> None:
    array = rows().T if turned else rows()
    tensor = mi.Tensor.from_array(array)
    seen = tensor.reshape(shape)
    np.testing.assert_array_equal(seen.numpy(), array.reshape(expected))
    assert (seen.storage is tensor.storage) == (not turned)


@pytest.mark.parametrize("shape", [[5, -1], [-1, -1], [0, -1], [13], [-2, -6]])
@pytest.mark.parametrize("turned", [False, True])
def test_reshape_keeps_the_number_of_elements(turned: bool, shape: list[int]) -> None:
    with pytest.raises(mi.InvalidInputError, match=r"^\[\d, \d\] can't be (viewed as|reshaped to)|must be a sequence"):
        mi.Tensor.from_array(rows().T if turned else rows()).reshape(shape)


def test_numpy_takes_a_tensor() -> None:
    tensor = mi.Tensor.from_array(np.arange(6, dtype=np.float32).reshape(2, 3))
    array = np.asarray(tensor)
    assert array.dtype == np.float32 and np.shares_memory(array, tensor.numpy())
    assert np.asarray(tensor, np.float64).dtype == np.float64
    assert not np.shares_memory(np.array(tensor), array)
    np.testing.assert_array_equal(np.add(tensor, 1), array + 1)


def test_numpy_takes_none_of_a_gpus_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    tensor = mi.Tensor.empty([2], np.float32)
    monkeypatch.setattr(tensor.storage.memory, "host", None)
    with pytest.raises(TypeError, match=r"numpy can't read memory on cpu by itself: to\(\"cpu\"\) copies it"):
        np.asarray(tensor)
