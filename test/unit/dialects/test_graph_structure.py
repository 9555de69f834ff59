"""Weights outside of the IR, kernels, the reference interpreter, and what all ops share."""

from __future__ import annotations

import errno
import io
import weakref
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

import numpy as np
import pytest
from graph_cases import random, run, values_of
from xdsl.context import Context
from xdsl.dialects import test
from xdsl.dialects.builtin import Builtin, IntegerType, ModuleOp, Signedness, StringAttr, bf16, f32, i1, i64
from xdsl.dialects.func import Func, FuncOp
from xdsl.ir import Operation
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects import graph
from mini_infer.dialects.errors import InvalidInputError, InvalidModelError, MiniInferError
from mini_infer.dialects.graph import blobs
from mini_infer.dialects.graph.base import describe, named_location, node_name
from mini_infer.dialects.graph.blobs import BlobAttr, BlobStore, MiniContext, blob_store, blobs_of
from mini_infer.dialects.graph.dialect import Graph
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.structure import CallOp, ConstantOp, KernelOp, WeightOp, YieldOp
from mini_infer.dialects.graph.ops.unary import IsNanOp, ReluOp
from mini_infer.dialects.graph.packing.packings import PanelPacking
from mini_infer.dialects.graph.values import Array, element_type_of, nbytes_of, numpy_dtype, tensor, type_of


def context(folder: Path | None = None) -> MiniContext:
    """A context with the dialects of the graph level, and weights in a folder."""
    ctx = MiniContext(blobs=BlobStore(folder or Path.cwd()))
    for dialect in (Builtin, Func, Graph):
        ctx.load_dialect(dialect)
    return ctx


def parse(ctx: Context, text: str) -> ModuleOp:
    """A verified module."""
    module = Parser(ctx, text).parse_module()
    module.verify()
    return module


# Every op, as the IR has it.


def test_every_op_class_is_in_the_dialect() -> None:
    files = [import_module(file.name) for file in walk_packages(graph.__path__, f"{graph.__name__}.")]
    values = [value for file in files for value in vars(file).values()]
    found = {value for value in values if isinstance(value, type) and issubclass(value, Operation)}
    ours = {value for value in found if value.__module__.startswith(graph.__name__)}
    concrete = {value for value in ours if "get_irdl_definition" in vars(value)}
    assert concrete == set(Graph.operations)
    assert all(operation.name.startswith("graph.") for operation in concrete)


@pytest.mark.parametrize(
    "name", ["i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64", "f16", "bf16", "f32", "f64"]
)
def test_element_types_and_numpy_types(name: str) -> None:
    element_type = Parser(context(), name).parse_type()
    dtype = numpy_dtype(element_type)
    assert element_type_of(dtype) == element_type
    assert dtype.itemsize == nbytes_of(tensor(element_type, ()))


def test_types_that_are_none_of_ours() -> None:
    with pytest.raises(VerifyException, match="i7 is not an element type"):
        numpy_dtype(IntegerType(7))
    with pytest.raises(VerifyException, match="numpy type complex64 has no element type"):
        element_type_of(np.dtype(np.complex64))


def test_the_location_names_the_node() -> None:
    (x,) = values_of([random(2)])
    op = ReluOp(x, location=named_location("/layer1/relu"))
    assert node_name(op) == "/layer1/relu"
    assert describe(op) == "/layer1/relu (graph.relu)"
    assert describe(ReluOp(x)) == "graph.relu"
    assert node_name(op.clone()) == "/layer1/relu"


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int64).reshape(2, 3),
        np.array(1.5, np.float16),
        np.array([True, False]),
        np.zeros((2, 0), np.float32),
        np.full((50, 50), 3, np.uint8),
        np.arange(200, dtype=np.float32),
        np.array([np.nan, np.inf, -0.0], np.float64),
        np.full((2, 2), -np.inf, np.float32),
        np.array([123456789, 1e30, 99999.5], np.float32),
    ],
    ids=lambda array: f"{array.dtype}{list(array.shape)}",
)
def test_constants_survive_text(array: Array) -> None:
    constant = ConstantOp.from_numpy(array)
    constant.verify()
    module = parse(context(), str(ModuleOp([constant])))
    (parsed,) = module.ops
    assert isinstance(parsed, ConstantOp)
    np.testing.assert_array_equal(parsed.to_numpy(), array)
    assert parsed.to_numpy().dtype == array.dtype


def test_bfloat16_constants() -> None:
    array = np.array([1.5, -2.0], numpy_dtype(bf16))
    (parsed,) = parse(context(), str(ModuleOp([ConstantOp.from_numpy(array)]))).ops
    assert isinstance(parsed, ConstantOp)
    assert parsed.to_numpy().tolist() == array.tolist()


# Weights.


def test_a_blob_in_memory_is_read_back() -> None:
    store, array = BlobStore(), random(3, 4)
    blob = store.add(array)
    assert (blob.file.data, blob.nbytes.data) == ("", 48)
    assert store.add(array.copy()) == blob
    result = store.read(blob, tensor(f32, (3, 4)))
    np.testing.assert_array_equal(result, array)
    assert not result.flags.writeable
    with pytest.raises(InvalidModelError, match="a blob of 48 bytes can't be a tensor<3xf32>"):
        store.read(blob, tensor(f32, (3,)))


def made_of(store: BlobStore, source: BlobAttr, factor: float, calls: list[float], rows: int = 0) -> BlobAttr:
    """[128, 256] times a factor, which is noted whenever the product is computed."""

    def fill(arrays: Sequence[Array], out: Array) -> None:
        calls.append(factor)
        out[...] = arrays[0] * np.float32(factor)

    return store.add_made(LARGE, [(source, LARGE)], f"times {factor}", fill, rows)


LARGE = tensor(f32, (128, 256))


def test_a_large_weight_is_made_when_it_is_read() -> None:
    store, calls, array = BlobStore(), list[float](), random(128, 256)
    plain = store.add(array)
    twice = made_of(store, plain, 2, calls)
    more = made_of(store, twice, 3, calls, rows=1)
    assert (calls, twice.nbytes.data, twice == more) == ([], array.nbytes, False)
    assert made_of(store, plain, 2, []) == twice
    out = np.empty(array.nbytes, np.uint8)
    store.copy(more, out)
    assert calls == [2, 3]
    np.testing.assert_array_equal(out.view(np.float32).reshape(128, 256), array * 2 * 3)
    np.testing.assert_array_equal(store.read(more, LARGE), array * 2 * 3)


def test_what_costs_much_to_make_again_is_kept() -> None:
    store, calls = BlobStore(), list[float]()
    blob = store.add(np.ones((128, 256), np.float32))
    for _ in range(40):
        blob = made_of(store, blob, -1, calls)
    for _ in range(2):
        assert (store.read(blob, LARGE) == 1).all()
    assert len(calls) < 60


def test_a_weight_is_made_part_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of rows that belong together, those of a weight that is made likewise included."""
    monkeypatch.setattr(blobs, "PART_BYTES", 2**15)
    store, calls, array = BlobStore(), list[float](), random(128, 256)
    scaled = made_of(store, store.add(array), 2, calls, rows=1)
    panels = tensor(f32, (6, 256, 24))

    def pack(arrays: Sequence[Array], out: Array) -> None:
        PanelPacking(24, True).pack(arrays[0], out)

    packed = store.add_made(panels, [(scaled, LARGE)], "panels", pack, 24)
    np.testing.assert_array_equal(store.read(packed, panels), PanelPacking(24, True).pack(array * 2))
    assert len(calls) == 6
    parts = [part.copy() for part in store.parts(packed)]
    assert len(parts) == 6 and b"".join(map(bytes, parts)) == store.bytes(packed).tobytes()


def test_made_weights_are_written_under_the_digest_of_their_bytes(tmp_path: Path) -> None:
    ctx, array = MiniContext(), random(128, 256)
    made = made_of(ctx.blobs, ctx.blobs.add(array), 2, [])
    module = ModuleOp([WeightOp(made, LARGE)])
    ctx.blobs.write(module, tmp_path / "w.bin")
    (written,) = blobs_of(module)
    assert written.digest == BlobStore().add(array * 2).digest
    np.testing.assert_array_equal(BlobStore(tmp_path).read(written, LARGE), array * 2)


def test_a_blob_in_a_file_is_mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    array = random(8)
    (tmp_path / "w.bin").write_bytes(b"abc" + array.tobytes())
    store = BlobStore(tmp_path)
    blob = store.add_file("w.bin", 3, 32)
    assert blob.digest == store.add(array).digest
    fresh = BlobStore(tmp_path)
    np.testing.assert_array_equal(fresh.read(blob, tensor(f32, (8,))), array)
    monkeypatch.setattr(blobs, "PART_BYTES", 20)
    assert [bytes(part) for part in fresh.parts(blob)] == [array.tobytes()[:20], array.tobytes()[20:]]


def test_broken_weight_files(tmp_path: Path) -> None:
    store = BlobStore(tmp_path)
    with pytest.raises(InvalidModelError, match=r"can't read the weights in .*w\.bin: No such file"):
        store.add_file("w.bin", 0, 4)
    (tmp_path / "w.bin").write_bytes(b"12345678")
    with pytest.raises(InvalidModelError, match=r"blob w\.bin at 6 should have 4 bytes, but 2 are there"):
        store.add_file("w.bin", 6, 4)
    (tmp_path / "empty.bin").write_bytes(b"")
    with pytest.raises(InvalidModelError, match="should have 4 bytes, but 0 are there"):
        store.add_file("empty.bin", 0, 4)
    with pytest.raises(InvalidModelError, match=r"w\.bin has changed: digest .* instead of 0"):
        store.bytes(BlobAttr.of("w.bin", 0, 4, "0"))
    with pytest.raises(InvalidModelError, match="blob abc was only in memory and is gone"):
        store.bytes(BlobAttr.of("", 0, 4, "abc"))


def weighted_module(ctx: MiniContext) -> ModuleOp:
    """A module with two new weights, one of them used twice, and one in a module attribute."""
    first, second = blob_store(ctx).add(random(3)), blob_store(ctx).add(random(5, seed=1))
    module = ModuleOp(
        [
            WeightOp(first, tensor(f32, (3,))),
            WeightOp(second, tensor(f32, (5,))),
            WeightOp(first, tensor(f32, (3,))),
        ]
    )
    text = f"builtin.module attributes {{kernel.weights = [[{second}, 0 : i64]]}} {{}}"
    module.attributes.update(parse(ctx, text).attributes)
    return module


def test_new_blobs_are_written_beside_the_module(tmp_path: Path) -> None:
    ctx = context()
    module = weighted_module(ctx)
    blob_store(ctx).write(module, tmp_path / "model.weights")
    written = blobs_of(module)
    assert {blob.file.data for blob in written} == {"model.weights"}
    assert {blob.offset.data for blob in written} == {0, 64}
    elsewhere = context(tmp_path)
    for op in parse(elsewhere, str(module)).ops:
        assert isinstance(op, WeightOp)
        array = blob_store(elsewhere).read(op.blob, type_of(op.result))
        np.testing.assert_array_equal(array, random(3) if array.size == 3 else random(5, seed=1))
    blob_store(ctx).write(module, tmp_path / "again.weights")
    assert not (tmp_path / "again.weights").exists()


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ctx = context()
    module = weighted_module(ctx)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(MiniInferError, match=r"model\.weights: can't be written: No space left on device"):
        blob_store(ctx).write(module, tmp_path / "model.weights")
    assert not list(tmp_path.iterdir())
    assert all(not blob.file.data for blob in blobs_of(module))


def test_contexts_and_their_stores() -> None:
    plain, other = Context(), Context()
    assert blob_store(plain) is blob_store(plain)
    assert blob_store(plain) is not blob_store(other)
    ctx = context()
    assert blob_store(ctx) is ctx.blobs is blob_store(ctx.clone())
    assert ctx.clone().get_optional_op("graph.relu") is ReluOp


# Kernels and the interpreter.

MODULE = """
builtin.module {
  func.func @main(%a: tensor<2x3xf32> {graph.name = "a"}, %b: tensor<3xf32>)
      -> (tensor<2x3xf32> {graph.name = "sum"}, tensor<2x3xi32>) {
    %w = graph.weight #graph.blob<"", 0, 12, "DIGEST"> : tensor<3xf32>
    %s, %t = graph.call @k(%a, %b, %w)
        : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) loc("node")
    %i = graph.cast %t {to = i32} : (tensor<2x3xf32>) -> tensor<2x3xi32>
    func.return %s, %i : tensor<2x3xf32>, tensor<2x3xi32>
  }
  graph.kernel @k(%a: tensor<2x3xf32>, %b: tensor<3xf32>, %w: tensor<3xf32>)
      -> (tensor<2x3xf32>, tensor<2x3xf32>)
      attributes {schedule = "any", interface = [1 : i64], other = 2 : i64} {
    %0 = graph.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %1 = graph.mul %0, %w : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    %2 = graph.cast %1 {to = f32} : tensor<2x3xf32>
    graph.yield %0, %2 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
"""


def kernels_module() -> tuple[ModuleOp, BlobStore]:
    """The module above, with its weight."""
    ctx = context()
    blob = blob_store(ctx).add(np.array([1, 10, 100], np.float32))
    return parse(ctx, MODULE.replace("DIGEST", blob.digest.data)), blob_store(ctx)


def test_kernels_keep_their_attributes_in_text() -> None:
    module, _ = kernels_module()
    output = io.StringIO()
    Printer(output, print_debuginfo=True).print_op(module)
    again = parse(context(), output.getvalue())
    assert str(again) == str(module)
    kernel = next(op for op in again.ops if isinstance(op, KernelOp))
    assert set(kernel.properties) == {"sym_name", "function_type", "schedule", "interface"}
    assert kernel.schedule == StringAttr("any") and set(kernel.attributes) == {"other"}
    call = next(op for op in again.walk() if isinstance(op, CallOp))
    assert call.kernel is kernel and node_name(call) == "node"


def test_interpret() -> None:
    module, store = kernels_module()
    inputs: dict[str, Array] = {"a": np.ones((2, 3), np.float32), "input1": np.array([0, 1, 2], np.float32)}
    seen: list[str] = []

    def watch(op: Operation, arrays: Any) -> None:
        seen.append(op.name)

    results = interpret(module, inputs, store, on_value=watch)
    assert list(results) == ["sum", "output1"]
    assert results["sum"].tolist() == [[1, 2, 3]] * 2
    assert results["output1"].tolist() == [[1, 20, 300]] * 2
    assert seen == ["graph.weight", "graph.add", "graph.mul", "graph.cast", "graph.call", "graph.cast"]


def test_values_are_freed_after_their_last_use() -> None:
    ctx = context()
    module = parse(
        ctx,
        """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = graph.exp %a : tensor<2xf32>
  %c = graph.add %b, %b : tensor<2xf32>
  %d = graph.neg %c : tensor<2xf32>
  func.return %d : tensor<2xf32>
}
""",
    )
    made: list[weakref.ref[Array]] = []
    alive: list[int] = []

    def watch(op: Operation, arrays: Sequence[Array]) -> None:
        del op
        made.extend(weakref.ref(array) for array in arrays)
        alive.append(sum(each() is not None for each in made))

    interpret(module, {"input0": np.ones(2, np.float32)}, blob_store(ctx), on_value=watch)
    assert alive == [1, 2, 2]


def test_a_cast_to_another_float_keeps_the_precision() -> None:
    ctx = context()
    module = parse(
        ctx,
        """
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %b = graph.cast %a {to = f16} : (tensor<2xf32>) -> tensor<2xf16>
  %c = graph.cast %b {to = f32} : (tensor<2xf16>) -> tensor<2xf32>
  func.return %c : tensor<2xf32>
}
""",
    )
    third = np.full(2, 1 / 3)
    (wide,) = interpret(module, {"input0": third}, blob_store(ctx), precision=np.float64).values()
    np.testing.assert_array_equal(wide, third)
    (narrow,) = interpret(module, {"input0": third.astype(np.float32)}, blob_store(ctx)).values()
    np.testing.assert_array_equal(narrow, third.astype(np.float16))


def test_a_precision_is_one_of_floats_alone() -> None:
    ctx = context()
    module = parse(
        ctx, "func.func @main(%i: tensor<2xi64>, %f: tensor<2xf32>) -> tensor<2xi64> { func.return %i : tensor<2xi64> }"
    )
    integers, floats = np.arange(2), np.ones(2)
    for i, f, fact in (
        (floats, floats, "input input0 has type float64 instead of int64"),
        (integers, integers, "input input1 has type int64 instead of float32"),
    ):
        with pytest.raises(InvalidInputError, match=fact):
            interpret(module, {"input0": i, "input1": f}, blob_store(ctx), precision=np.float64)


def test_interpret_in_double_precision() -> None:
    module, store = kernels_module()
    a = np.full((2, 3), 1 + 1e-12)
    results = interpret(module, {"a": a, "input1": np.zeros(3, np.float32)}, store, precision=np.float64)
    np.testing.assert_array_equal(results["sum"], a)
    assert results["sum"].dtype == np.float64 and results["output1"].dtype == np.int32


@pytest.mark.parametrize(
    ("inputs", "fact"),
    [
        ({"a": random(2, 3)}, "input input1 is missing"),
        (
            {"a": random(2, 3), "input1": random(3), "c": random(1)},
            "there is no input c; inputs are a, input1",
        ),
        ({"a": random(3, 2), "input1": random(3)}, r"input a has shape \[3, 2\] instead of \[2, 3\]"),
        (
            {"a": random(2, 3, dtype=np.float64), "input1": random(3)},
            "input a has type float64 instead of float32",
        ),
    ],
)
def test_wrong_inputs(inputs: dict[str, Array], fact: str) -> None:
    module, store = kernels_module()
    with pytest.raises(InvalidInputError, match=fact):
        interpret(module, inputs, store)


def test_a_module_without_main() -> None:
    with pytest.raises(InvalidModelError, match="the module has no function @main"):
        interpret(ModuleOp([]), {}, BlobStore())


def test_a_function_ends_in_a_return() -> None:
    module = ModuleOp([FuncOp("main", ([], []))])
    with pytest.raises(InvalidModelError, match="a function doesn't end in a return"):
        interpret(module, {}, BlobStore())


def test_a_kernel_ends_in_a_yield() -> None:
    kernel = KernelOp("k", [], [])
    kernel.body.block.add_op(test.TestTermOp())
    with pytest.raises(VerifyException, match=r"a kernel's body must end in graph\.yield"):
        kernel.verify()


def test_a_kernel_follows_its_body() -> None:
    kernel = KernelOp("k", [tensor(f32, (2,))], [tensor(f32, (2,))])
    relu = IsNanOp(kernel.arguments[0])
    kernel.body.block.add_ops([relu, YieldOp(relu.result)])
    with pytest.raises(VerifyException, match=r"graph\.yield gives other types than the kernel's results"):
        kernel.verify()
    kernel.refresh_type()
    kernel.verify()
    assert kernel.function_type.outputs.data == (tensor(i1, (2,)),)


def test_a_cast_to_unsigned() -> None:
    to = IntegerType(8, Signedness.UNSIGNED)
    (x,) = values_of([random(2)])
    assert type_of(CastOp(x, to).result) == tensor(to, (2,))
    assert run(partial(CastOp, to=i64), np.array([1.9, -1.9], np.float32))[0].tolist() == [1, -1]
