"""What has no text in CUDA C++ is refused by name."""

from __future__ import annotations

import pytest
from gpu_text import parse

from mini_infer.dialects.errors import CompileError
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.lowering.gpu_to_cuda.launch_list import launch_list


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%0 = arith.constant 1 : i32\n%1 = math.ctpop %0 : i32\n%2 = arith.index_cast %1 : i32 to index\n"
            'memref.store %v, %x[%2] : memref<8xf32> loc("/node")',
            "math.ctpop in @k: this operation is not supported in CUDA C++",
        ),
        (
            '%0 = math.ctpop %n : i32 loc("/node")\nmemref.store %0, %n32[%i] : memref<8xi32>',
            "/node (math.ctpop) in @k: this operation is not supported in CUDA C++",
        ),
        (
            '%0 = "memref.cast"(%x) : (memref<8xf32>) -> memref<8xf32, strided<[?], offset: ?>>\n'
            "memref.store %v, %0[%i] : memref<8xf32, strided<[?], offset: ?>>",
            "memref.cast in @k: the strides of memref<8xf32, strided<[?], offset: ?>> are not known",
        ),
        (
            "%0 = memref.dim %x, %i : memref<8xf32>\nmemref.store %v, %x[%0] : memref<8xf32>",
            "memref.dim in @k: the dimension asked for must be a constant",
        ),
        (
            "%0 = memref.subview %x[0] [%i] [1] : memref<8xf32> to memref<?xf32, strided<[1]>>\n"
            "memref.store %v, %0[%i] : memref<?xf32, strided<[1]>>",
            "memref.subview in @k: its sizes must be static",
        ),
        (
            "%0 = memref.alloca(%i) : memref<?xf32>\nmemref.store %v, %0[%i] : memref<?xf32>",
            "memref.alloca in @k: the size of a private array must be static",
        ),
        (
            "%0 = arith.constant 1 : i7\n%1 = arith.extui %0 : i7 to i32\nmemref.store %1, %n32[%i] : memref<8xi32>",
            "i7 has no counterpart in CUDA C++",
        ),
        (
            "%0 = arith.constant dense<1.0> : vector<2x2xf32>\n%1 = arith.addf %0, %0 : vector<2x2xf32>\n"
            "%2 = vector.extract %1[0, 0] : f32 from vector<2x2xf32>\nmemref.store %2, %x[%i] : memref<8xf32>",
            "only one-dimensional vectors are supported in CUDA C++",
        ),
    ],
)
def test_what_has_no_text(body: str, message: str) -> None:
    text = f"""gpu.module @kernels {{
      gpu.func @k(%x: memref<8xf32>, %n32: memref<8xi32>) kernel {{
        %i = gpu.thread_id x
        %v = arith.constant 1.0 : f32
        %n = arith.index_cast %i : index to i32
        {body}
        gpu.return
      }}
    }}"""
    with pytest.raises(CompileError) as raised:
        cuda_text(parse(text))
    assert message in str(raised.value)


def test_a_module_without_kernels() -> None:
    with pytest.raises(CompileError, match="the module holds no kernels for a GPU"):
        cuda_text(parse("builtin.module {}"))


@pytest.mark.parametrize(("grid", "message"), [("%one, %many, %one", "along y"), ("%one, %one, %many", "along z")])
def test_grids_that_no_device_launches(grid: str, message: str) -> None:
    text = f"""
    gpu.module @kernels {{ gpu.func @k() kernel {{ gpu.return }} }}
    func.func @main() {{
      %one = arith.constant 1 : index
      %many = arith.constant 65536 : index
      gpu.launch_func @kernels::@k blocks in ({grid}) threads in (%one, %one, %one) loc("/node")
      func.return
    }}"""
    with pytest.raises(
        CompileError, match=rf"^/node \(gpu.launch_func\): a grid of 65536 blocks {message}; a launch has"
    ):
        launch_list(parse(text))
