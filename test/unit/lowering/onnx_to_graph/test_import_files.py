"""Loading: weights stay in their files, and whatever is wrong with a file is said in one clear error."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from graph_cases import random as random_array
from import_cases import imported, model_of
from models.build import SMALL_MODELS, ModelBuilder
from onnx import ModelProto, TensorProto, helper
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.errors import InvalidModelError, MiniInferError, UnsupportedError
from mini_infer.dialects.graph.blobs import BlobAttr, MiniContext
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.structure import ConstantOp, WeightOp
from mini_infer.lowering.onnx_to_graph import import_onnx

X = random_array(3, 16)
WEIGHT = random_array(16, 8, seed=1)


def product(weight: TensorProto | None = None) -> ModelProto:
    """x @ w, with w as given."""
    model = model_of([helper.make_node("MatMul", ["x", "w"], ["y"], name="product")], {"x": X}, {"w": WEIGHT}, ["y"])
    if weight is not None:
        weight.name = "w"
        model.graph.initializer[0].CopyFrom(weight)
    return model


def blobs(module: ModuleOp) -> list[BlobAttr]:
    """The blobs of the module's weights."""
    return [op.blob for op in module.walk() if isinstance(op, WeightOp)]


def saved(model: ModelProto, folder: Path) -> Path:
    """The model as a file."""
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def externally(folder: Path, location: str = "weights.bin", **entries: object) -> ModelProto:
    """x @ w with w in an external file, which is written when it lies in the folder."""
    data = bytes(64) + WEIGHT.tobytes()
    if "/" not in location:
        (folder / location).write_bytes(data)
    model = product()
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": 64, "length": WEIGHT.nbytes, **entries}.items():
        if value is not None:
            tensor.external_data.add(key=key, value=str(value))
    return model


def result_of(path: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """What the model in the file computes."""
    ctx = MiniContext()
    return interpret(import_onnx(path, ctx=ctx), {"x": X}, ctx.blobs)["y"]


def test_raw_data_is_read_from_the_model_file(tmp_path: Path) -> None:
    path = saved(product(), tmp_path)
    ctx = MiniContext()
    module = import_onnx(str(path), ctx=ctx)
    (blob,) = blobs(module)
    assert blob.file.data == str(path)
    data = path.read_bytes()
    assert data[blob.offset.data : blob.offset.data + blob.nbytes.data] == WEIGHT.tobytes()
    np.testing.assert_array_equal(interpret(module, {"x": X}, ctx.blobs)["y"], X @ WEIGHT)


@pytest.mark.parametrize("length", [WEIGHT.nbytes, None])
def test_external_data_is_read_from_its_file(tmp_path: Path, length: int | None) -> None:
    path = saved(externally(tmp_path, length=length), tmp_path)
    (blob,) = blobs(import_onnx(path))
    assert (blob.file.data, blob.offset.data) == (str(tmp_path / "weights.bin"), 64)
    np.testing.assert_array_equal(result_of(path), X @ WEIGHT)


def test_typed_data_and_models_in_memory_go_to_the_store() -> None:
    typed = helper.make_tensor("w", TensorProto.FLOAT, WEIGHT.shape, WEIGHT.reshape(-1).tolist())
    for model in (product(), product(typed), ModelProto.FromString(product().SerializeToString())):
        module, ctx = imported(model)
        (blob,) = blobs(module)
        assert blob.file.data == ""
        np.testing.assert_array_equal(interpret(module, {"x": X}, ctx.blobs)["y"], X @ WEIGHT)
    ctx = MiniContext()
    module = import_onnx(product().SerializeToString(), ctx=ctx)
    np.testing.assert_array_equal(interpret(module, {"x": X}, ctx.blobs)["y"], X @ WEIGHT)


@pytest.mark.parametrize("external", [False, True])
def test_small_tensors_are_constants(tmp_path: Path, external: bool) -> None:
    b = ModelBuilder("small")
    y = b.node("Add", b.input("x", [4, 64]), b.constant(np.arange(64, dtype=np.float32), "w"))
    model = b.model([y])
    if external:
        (tmp_path / "w").write_bytes(np.arange(64, dtype=np.float32).tobytes())
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="w")
    module = import_onnx(saved(model, tmp_path))
    (constant,) = (op for op in module.walk() if isinstance(op, ConstantOp))
    np.testing.assert_array_equal(constant.to_numpy(), np.arange(64))


@pytest.mark.parametrize("location", ["../weights.bin", "/etc/passwd", "link/weights.bin", "inside/../../weights.bin"])
def test_external_data_outside_of_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    (tmp_path / "weights.bin").write_bytes(bytes(64) + WEIGHT.tobytes())
    folder = tmp_path / "model"
    (folder / "inside").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    path = saved(externally(folder, location), folder)
    with pytest.raises(InvalidModelError, match=r"w: external data .* outside the model's folder"):
        import_onnx(path)


def test_external_data_through_a_link_to_a_file_outside_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    path = saved(externally(folder), folder)
    (folder / "weights.bin").rename(tmp_path / "weights.bin")
    (folder / "weights.bin").symlink_to(tmp_path / "weights.bin")
    with pytest.raises(InvalidModelError, match="outside the model's folder"):
        import_onnx(path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "sub/none.bin"}, r"external data 'sub/none.bin' is missing: no such file in"),
        ({"location": "none/"}, "is missing"),
        ({"offset": 65}, "is too short: it has 576 bytes, the data ends at 577"),
        ({"offset": -1}, "has a negative offset or length: -1, 512"),
        ({"offset": "x"}, "has an offset or length that is no number"),
        ({"length": 500}, r"500 bytes of data, but float\[16, 8\] needs 512"),
    ],
)
def test_broken_external_data(tmp_path: Path, entries: dict[str, object], message: str) -> None:
    path = saved(externally(tmp_path, **entries), tmp_path)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidModelError, match=f"^initialiser w: .*{message}"):
        import_onnx(path)


def test_external_data_needs_a_path(tmp_path: Path) -> None:
    with pytest.raises(InvalidModelError, match=r"beside the model file; import the model from its path"):
        import_onnx(externally(tmp_path))


def test_wrong_sizes_of_data(tmp_path: Path) -> None:
    model = product()
    model.graph.initializer[0].raw_data = WEIGHT.tobytes()[:-4]
    with pytest.raises(InvalidModelError, match=r"^initialiser w: 508 bytes of data, but .* needs 512"):
        import_onnx(saved(model, tmp_path))
    with pytest.raises(InvalidModelError, match=r"^tensor w: its data does not fit float"):
        import_onnx(model)
    model.graph.initializer[0].dims[0] = -16
    with pytest.raises(InvalidModelError, match=r"\[-16, 8\] has a negative dimension"):
        import_onnx(model)


def test_element_types_that_are_not_supported() -> None:
    strings = TensorProto(data_type=TensorProto.STRING, dims=[1], string_data=[b"text"])
    with pytest.raises(UnsupportedError, match=r"^product \(MatMul\): operand 1 \(w\) is a tensor of texts"):
        import_onnx(product(strings))
    unknown = TensorProto(data_type=99)
    with pytest.raises(InvalidModelError, match=r"^initialiser w has element type 99"):
        import_onnx(product(unknown))


def test_what_is_no_model(tmp_path: Path) -> None:
    with pytest.raises(InvalidModelError, match=r"none\.onnx: no such file"):
        import_onnx(tmp_path / "none.onnx")
    with pytest.raises(InvalidModelError, match="not a file"):
        import_onnx(tmp_path)
    for data in (b"", b"this is some text, not a model", b"\x00\xff" * 40, b"\x08\x07"):
        path = tmp_path / "model.onnx"
        path.write_bytes(data)
        with pytest.raises(InvalidModelError, match=r"model\.onnx: not an ONNX model"):
            import_onnx(path)
    with pytest.raises(InvalidModelError, match=r"the model: not an ONNX model"):
        import_onnx(b"this is some text, not a model")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff" * 12, "not an ONNX model, or cut short: broken number at byte 10"),
        (b"\x08\x07\x0b", "not an ONNX model: unknown field kind 3 at byte 2"),
        (b"\x3a\x10ab", "not an ONNX model, or cut short: a field at byte 0 ends at 18, its message at 4"),
    ],
)
def test_where_a_message_breaks(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(data)
    with pytest.raises(InvalidModelError, match=rf"model\.onnx: {message}$"):
        import_onnx(path)


def test_truncated_files(tmp_path: Path) -> None:
    data = product().SerializeToString()
    path = tmp_path / "model.onnx"
    for length in range(len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(InvalidModelError):
            import_onnx(path)


def test_damaged_files_give_errors_of_ours(tmp_path: Path) -> None:
    numbers = random.Random(0)
    path = tmp_path / "model.onnx"
    for name in ("mlp", "transformer"):
        data = SMALL_MODELS[name]().SerializeToString()
        for _ in range(100):
            damaged = bytearray(data)
            for _ in range(numbers.randint(1, 8)):
                damaged[numbers.randrange(len(data))] = numbers.randrange(256)
            path.write_bytes(bytes(damaged))
            try:
                import_onnx(path)
            except MiniInferError:
                continue
