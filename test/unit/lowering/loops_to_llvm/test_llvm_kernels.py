"""The machine code of kernels: register tiles stay in registers, and addresses fold into the accesses."""

import re

import numpy as np
import pytest
from llvm_jit import Code, assembly

K = 96


def micro_kernel(rows: int, columns: int, pieces: int = 1) -> str:
    """C[rows, columns] = A @ B with the whole of C as loop-carried vectors, `pieces` to a row."""
    lanes = columns // pieces
    vector, a, b = f"vector<{lanes}xf32>", f"memref<{rows}x{K}xf32>", f"memref<{K}x{columns}xf32>"
    tiles = [(row, piece) for row in range(rows) for piece in range(pieces)]
    lines = [f"%i{value} = arith.constant {value} : index" for value in range(max(rows, columns, K) + 1)]
    lines.append(f"%zero = arith.constant dense<0.0> : {vector}")
    carried = ", ".join(f"%acc{row}_{piece} = %zero" for row, piece in tiles)
    types = ", ".join(vector for _ in tiles)
    lines.append(f"%r:{len(tiles)} = scf.for %k = %i0 to %depth step %i1 iter_args({carried}) -> ({types}) {{")
    for piece in range(pieces):
        lines += [
            f"%column{piece} = arith.constant {piece * lanes} : index",
            f"%b{piece} = vector.load %B[%k, %column{piece}] : {b}, {vector}",
        ]
    for row in range(rows):
        lines += [
            f"%x{row} = memref.load %A[%i{row}, %k] : {a}",
            f"%v{row} = vector.broadcast %x{row} : f32 to {vector}",
        ]
        for piece in range(pieces):
            lines.append(f"%n{row}_{piece} = vector.fma %v{row}, %b{piece}, %acc{row}_{piece} : {vector}")
    results = ", ".join(f"%n{row}_{piece}" for row, piece in tiles)
    lines.append(f"scf.yield {results} : {types}\n}}")
    for number, (row, piece) in enumerate(tiles):
        place = f"%C[%i{row}, %i{piece * lanes}] : memref<{rows}x{columns}xf32>"
        lines.append(f"vector.store %r#{number}, {place}, {vector}")
    body = "\n".join(lines)
    arguments = f"%A: {a}, %B: {b}, %C: memref<{rows}x{columns}xf32>, %depth: index"
    return f"func.func @f({arguments}) {{\n{body}\nfunc.return\n}}"


@pytest.mark.thinned(5)
@pytest.mark.parametrize(
    ("rows", "columns", "pieces", "cpu", "register"),
    [
        (14, 32, 1, "x86-64-v4", "zmm"),
        (12, 32, 1, "x86-64-v4", "zmm"),
        (6, 64, 1, "x86-64-v4", "zmm"),
        (8, 48, 3, "x86-64-v4", "zmm"),
        (6, 16, 1, "x86-64-v3", "ymm"),
        (4, 24, 3, "x86-64-v3", "ymm"),
    ],
)
def test_accumulators_stay_in_registers(rows: int, columns: int, pieces: int, cpu: str, register: str) -> None:
    text = assembly(micro_kernel(rows, columns, pieces), cpu, 512 if register == "zmm" else 256)
    lanes = 16 if register == "zmm" else 8
    per_step = rows * columns // lanes
    assert len(re.findall(rf"vfmadd\w+ps\t.*%{register}", text)) % per_step == 0
    assert "(%rsp" not in text
    loop = re.search(r"\.LBB0_(\d+):(?:(?!\.LBB0_\d+:).)*?vfmadd.*?j\w+\t\.LBB0_\1\b", text, re.DOTALL)
    assert loop is not None
    assert "mulq" not in loop[0]


@pytest.mark.parametrize(("rows", "columns", "pieces"), [(14, 32, 1), (5, 64, 2), (8, 48, 3)])
def test_micro_kernel(rows: int, columns: int, pieces: int) -> None:
    random = np.random.default_rng(0)
    a, b = random.random((rows, K), np.float32), random.random((K, columns), np.float32)
    c = np.zeros((rows, columns), np.float32)
    code = Code(micro_kernel(rows, columns, pieces))
    for depth in (0, 1, K):
        code("f", a, b, c, depth)
        np.testing.assert_allclose(c, a[:, :depth] @ b[:depth], rtol=1e-5)


def test_scalar_loops_on_separate_buffers_are_vectorised() -> None:
    text = """
    func.func @f(%x: memref<1000xf32>, %y: memref<1000xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %n = arith.constant 1000 : index
      %zero = arith.constant 0.0 : f32
      scf.for %i = %c0 to %n step %c1 {
        %v = memref.load %x[%i] : memref<1000xf32>
        %negative = arith.cmpf olt, %v, %zero : f32
        %r = arith.select %negative, %zero, %v : f32
        memref.store %r, %y[%i] : memref<1000xf32>
      }
      func.return
    }"""
    listing = assembly(text, "x86-64-v3", 256)
    assert re.search(r"vmaxps\t.*%ymm", listing)
    assert "cmpps" not in listing
    x = np.linspace(-1, 1, 1000, dtype=np.float32)
    y = np.zeros_like(x)
    Code(text)("f", x, y)
    np.testing.assert_array_equal(y, np.maximum(x, 0))


def test_sums_may_be_reordered_where_that_is_said() -> None:
    def text(flags: str) -> str:
        return f"""
        func.func @f(%x: memref<1024xf32>, %y: memref<1xf32>) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %n = arith.constant 1024 : index
          %zero = arith.constant 0.0 : f32
          %s = scf.for %i = %c0 to %n step %c1 iter_args(%a = %zero) -> (f32) {{
            %v = memref.load %x[%i] : memref<1024xf32>
            %b = arith.addf %a, %v {flags} : f32
            scf.yield %b : f32
          }}
          memref.store %s, %y[%c0] : memref<1xf32>
          func.return
        }}"""

    assert re.search(r"vaddps\t.*%ymm", assembly(text("fastmath<reassoc>"), "x86-64-v3", 256))
    assert not re.search(r"vaddps\t.*%ymm", assembly(text(""), "x86-64-v3", 256))
