"""Block-quantised weights of com.microsoft, as ONNX Runtime computes them; what it refuses, as numpy does."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from import_cases import assert_close, computed, computed_of_any_size
from microsoft_cases import Case, bytes_of, check, model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(4)
ROWS, BLOCK = 40, 16


def floats(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.uniform(-2, 2, shape).astype(dtype)


def scales(*shape: int, dtype: Any = np.float32) -> Array:
    return RANDOM.uniform(0.01, 0.1, shape).astype(dtype)


def numbers(bits: int, *shape: int) -> Array:
    return RANDOM.integers(0, 2**bits, shape).astype(np.uint8)


def products(
    bits: int,
    depth: int,
    zero: Array | None = None,
    places: Array | None = None,
    bias: Array | None = None,
    known: range = range(1, 6),
    note: str = "",
    **attributes: int,
) -> Case:
    blocks = -(-depth // BLOCK)
    weight = bytes_of(numbers(bits, ROWS, blocks, BLOCK), bits)
    operands = [floats(2, 3, depth), weight, scales(ROWS, blocks), zero, places, bias]
    while operands[-1] is None:
        operands.pop()
    attributes = {"bits": bits, "block_size": BLOCK, "K": depth, "N": ROWS} | attributes
    return Case("MatMulNBits", operands, attributes, known=known, note=f"{bits} bits, {depth} {note}")


def gathers(*operands: Array, note: str, **attributes: int) -> Case:
    known = [index for index in range(len(operands)) if index != 1]
    return Case("GatherBlockQuantized", operands, {"block_size": BLOCK} | attributes, known, note=note)


def typed(kind: Any, *shape: int) -> Array:
    """Of all the numbers of a type of 4 bits, some; of floats, too."""
    return numbers(4, *shape).view(kind) if kind == ml_dtypes.float4_e2m1fn else numbers(4, *shape).astype(kind)


ZEROS = {bits: bytes_of(numbers(bits, ROWS, 3), bits) for bits in (2, 3, 4, 8)}
SHUFFLED = RANDOM.permutation(np.arange(48) // BLOCK).astype(np.int32)
UNEVEN = np.sort(RANDOM.integers(0, 3, 48)).astype(np.int32)
PLACES = np.array([[0, 3, 9], [-1, 2, 0]], np.int32)

PRODUCTS = [
    *(products(bits, 48) for bits in (2, 4, 8)),
    *(products(bits, 40, ZEROS[bits], note="zero points") for bits in (2, 4, 8)),
    products(4, 48, ZEROS[4], bias=floats(ROWS), note="bias"),
    products(4, 48, ZEROS[4].reshape(-1), note="a row of zero points"),
    products(4, 48, numbers(4, ROWS, 3).astype(np.float32), note="whole floats as zero points"),
    products(4, 40, floats(ROWS, 3) + 7, bias=floats(ROWS), note="floats as zero points"),
    products(2, 48, floats(ROWS, 3), note="floats as zero points"),
    products(4, 48, places=SHUFFLED, note="shuffled"),
    products(4, 40, places=SHUFFLED[:40], note="blocks of several sizes"),
    products(4, 48, floats(ROWS, 3), UNEVEN, note="uneven blocks, floats as zero points"),
    products(4, 40, places=np.arange(40, dtype=np.int32) // BLOCK, note="blocks in order"),
    products(4, 48, ZEROS[4], known=range(0), note="weights that are inputs"),
    products(8, 40, ZEROS[8], note="accuracy", accuracy_level=1),
]
GATHERS = [
    gathers(bytes_of(numbers(4, 10, 32), 4), PLACES, scales(10, 2), note="4 bits"),
    gathers(bytes_of(numbers(4, 10, 32), 4), np.array(3), scales(10, 2), note="of a single place"),
    gathers(bytes_of(numbers(2, 10, 32), 2), PLACES, scales(10, 2), bytes_of(numbers(2, 10, 2), 2), note="2", bits=2),
    gathers(bytes_of(numbers(4, 10, 40), 4), PLACES, scales(10, 3), bytes_of(numbers(4, 10, 3), 4), note="a part"),
    gathers(numbers(8, 10, 40), PLACES, scales(10, 3), numbers(8, 10, 3), note="bytes", bits=8, quantize_axis=-1),
    gathers(bytes_of(numbers(4, 10, 3, 32), 4), PLACES, scales(10, 3, 2), note="rank 3", quantize_axis=2),
    gathers(typed(ml_dtypes.uint4, 4, 10, 32), PLACES, scales(4, 10, 2), note="uint4", gather_axis=1, quantize_axis=2),
    gathers(typed(ml_dtypes.int4, 10, 40, 3), PLACES, scales(10, 3, 3), typed(ml_dtypes.int4, 10, 3, 3), note="int4"),
    gathers(typed(ml_dtypes.int4, 4, 40), PLACES, scales(4, 3), typed(ml_dtypes.int4, 4, 3), note="blocks are gathered",
            gather_axis=1),
    gathers(bytes_of(numbers(4, 10, 32), 4), PLACES, scales(10, 2, dtype=np.float16), note="halves"),
    gathers(bytes_of(numbers(4, 10, 32), 4), np.array([3, 10, -11, -10, 2**40]), scales(10, 2), note="out of range"),
]  # fmt: skip


@pytest.mark.parametrize("case", PRODUCTS + GATHERS, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(7)
@pytest.mark.parametrize("case", PRODUCTS + GATHERS, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)


@pytest.mark.parametrize("case", [PRODUCTS[4], GATHERS[-1]], ids=str)
def test_known_operands(case: Case) -> None:
    """Where all is known when the model is imported, it means the same."""
    check(Case(case.op_type, case.operands, case.attributes, range(1, 6)))


@pytest.mark.parametrize("places", [None, SHUFFLED, UNEVEN], ids=["in order", "shuffled", "uneven"])
@pytest.mark.parametrize("bits", [3, 4, 5, 6, 7, 8])
@pytest.mark.parametrize("known", [range(1, 5), range(0)], ids=["constants", "inputs"])
def test_what_onnxruntime_does_not_compute(bits: int, places: Array | None, known: range) -> None:
    """It has no code for numbers that lie across bytes, and leaves zero points out beside g_idx."""
    depth, blocks = 40 if places is None else 48, 3
    zero, weight, scale = numbers(bits, ROWS, blocks), numbers(bits, ROWS, blocks, BLOCK), scales(ROWS, blocks)
    x = floats(2, depth)
    operands = [x, bytes_of(weight, bits), scale, bytes_of(zero, bits), places]
    case = Case("MatMulNBits", operands, {"bits": bits, "block_size": BLOCK, "K": depth, "N": ROWS}, known)
    of = np.arange(depth) // BLOCK if places is None else places
    matrix = (weight.reshape(ROWS, -1)[:, :depth].astype(np.float64) - zero[:, of]) * scale[:, of]
    wanted = (x.astype(np.float64) @ matrix.T).astype(np.float32)
    model, inputs = model_of(case)
    for found in (computed(model, inputs), mi.compile(model, threads=1)(inputs)):
        assert_close(found["y0"], wanted)


@pytest.mark.parametrize("kind", [ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn])
@pytest.mark.parametrize("block", [0, BLOCK])
def test_gathers_of_floats(kind: Any, block: int) -> None:
    """Scales may be for all rows, or with a block size of 0 one for each row."""
    table = floats(10, 32).astype(kind) if block else typed(ml_dtypes.float4_e2m1fn, 10, 32).astype(kind)
    scale = scales(1, 2) if block else scales(10, 1)
    case = Case("GatherBlockQuantized", [table, PLACES, scale], {"block_size": block}, known=(0, 2), opset=23)
    wide = table.astype(np.float32) * np.repeat(scale, 32 // scale.shape[1], axis=1)
    model, inputs = model_of(case)
    for found in (computed(model, inputs), computed_of_any_size(model, inputs)):
        np.testing.assert_array_equal(found["y0"], wide[PLACES])


def test_one_table_for_a_gather_and_a_product() -> None:
    """As ONNX Runtime's model builder shares the rows of tokens with the last product: by a Reshape."""
    from onnx import TensorProto, helper, numpy_helper

    rows, depth = 20, 32
    table, scale = numbers(4, rows, 2, BLOCK), scales(rows, 2)
    shared: dict[str, Any] = {"bits": 4, "block_size": BLOCK}
    node, domain = helper.make_node, "com.microsoft"
    graph = helper.make_graph(
        [
            node("Reshape", ["w", "flat"], ["table"]),
            node("GatherBlockQuantized", ["table", "ids", "s"], ["x"], domain=domain, gather_axis=0, **shared),
            node("MatMulNBits", ["x", "w", "s"], ["y"], domain=domain, K=depth, N=rows, **shared),
        ],
        "tied",
        [helper.make_tensor_value_info("ids", TensorProto.INT64, ["tokens"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(bytes_of(table, 4), "w"),
            numpy_helper.from_array(scale, "s"),
            numpy_helper.from_array(np.array([rows, depth // 2]), "flat"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(domain, 1)])
    ids = np.array([3, 0, 19, 3])
    wide = ((table.astype(np.float64) - 8) * scale[..., None]).reshape(rows, depth)
    engine = mi.compile(model, threads=1, dims={"tokens": len(ids)})
    np.testing.assert_allclose(engine(ids), wide[ids] @ wide.T, rtol=1e-4, atol=1e-5)


def test_weights_that_are_left_out() -> None:
    """A projection without weights gives its bias."""
    operands = [floats(2, 3, 48), np.zeros((0, 3, 8), np.uint8), scales(ROWS, 3), None, None, floats(ROWS)]
    check(Case("MatMulNBits", operands, {"K": 48, "N": ROWS, "block_size": BLOCK}, known=range(1, 6)))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (products(4, 48, N=0), "0 x 48 weights of 4 bits in blocks of 16"),
        (products(4, 48, block_size=0), "40 x 48 weights of 4 bits in blocks of 0"),
        (products(4, 48, K=32), "48 columns for 40 x 32 weights of 4 bits in blocks of 16"),
        (products(4, 48, block_size=32), r"\[40, 3, 8\] bytes don't hold \[40, 64\] numbers of 4 bits"),
        (products(4, 48, ZEROS[8]), r"\[40, 3\] bytes don't hold \[40, 3\] numbers of 4 bits"),
        (products(4, 48, ZEROS[4].astype(np.int32)), "zero points of type i32"),
        (products(4, 48, places=SHUFFLED + 1), "g_idx names blocks 1 to 3 of 3"),
        (products(4, 48, weight_prepacked=1), r"packed for another machine \(weight_prepacked\)"),
        (gathers(numbers(4, 10, 16), PLACES, scales(10, 2), note="", bits=5), "numbers of 5 bits"),
        (gathers(numbers(4, 10, 16), PLACES, scales(10, 2), note="", gather_axis=1, quantize_axis=0),
         "packed along the last axis, gathered along axis 1"),
        (gathers(numbers(4, 10, 16), PLACES, scales(10, 3), note=""),
         r"a scale of shape \[2, 3, 3\] doesn't fit \[2, 3, 32\] in blocks of 16"),
    ],
    ids=str,
)  # fmt: skip
def test_refused(case: Case, message: str) -> None:
    with pytest.raises((mi.UnsupportedError, mi.InvalidModelError), match=message):
        computed(*model_of(case))
