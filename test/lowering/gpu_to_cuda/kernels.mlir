// RUN: mini-opt %s -t cuda | filecheck %s

// A kernel is headed by the nodes that it computes; buffers that are only read are const, and those whose bytes no
// other argument has in any launch are restricted. Lines name their nodes and keep their numbers.
// CHECK:         // /a/Mul, /a/Add
// CHECK-NEXT:    #line {{[0-9]+}} "/a/Mul"
// CHECK-NEXT:    extern "C" __global__ void __launch_bounds__(64) scale(const float* __restrict__ x, float* __restrict__ y) {
// CHECK-NEXT:      const int thread = threadIdx.x;
// CHECK-NEXT:    #line {{[0-9]+}} "/a/Add"
// CHECK-NEXT:      y[thread] = x[thread] * 2.0f + 1.0f;
// CHECK-NEXT:    }

// These two overlap.
// CHECK:         // /b/"Shift\.
// CHECK-NEXT:    #line {{[0-9]+}} "/b/\"Shift\\"
// CHECK-NEXT:    extern "C" __global__ void __launch_bounds__(64) shift(const float* x, float* y) {
func.func @main(%x: memref<64xf32>, %y: memref<64xf32>, %arena: memref<1024xi8>) {
  %zero = arith.constant 0 : index
  %some = arith.constant 128 : index
  %one = arith.constant 1 : index
  %n = arith.constant 64 : index
  gpu.launch_func @kernels::@scale blocks in (%one, %one, %one) threads in (%n, %one, %one)
    args(%x : memref<64xf32>, %y : memref<64xf32>) {onnx.nodes = ["/a/Mul", "/a/Add"]}
  %a = memref.view %arena[%zero][] : memref<1024xi8> to memref<64xf32>
  %b = memref.view %arena[%some][] : memref<1024xi8> to memref<64xf32>
  gpu.launch_func @kernels::@shift blocks in (%one, %one, %one) threads in (%n, %one, %one)
    args(%a : memref<64xf32>, %b : memref<64xf32>) {onnx.nodes = ["/b/\"Shift\\"]}
  func.return
}
gpu.module @kernels {
  gpu.func @scale(%x: memref<64xf32>, %y: memref<64xf32>) kernel
      attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
    %two = arith.constant 2.0 : f32
    %one = arith.constant 1.0 : f32
    %thread = gpu.thread_id x
    %0 = memref.load %x[%thread] : memref<64xf32>
    %1 = arith.mulf %0, %two : f32 loc("/a/Mul")
    %2 = arith.addf %1, %one : f32 loc("/a/Add")
    memref.store %2, %y[%thread] : memref<64xf32> loc("/a/Add")
    gpu.return
  }
  gpu.func @shift(%x: memref<64xf32>, %y: memref<64xf32>) kernel
      attributes {gpu.known_block_size = array<i32: 64, 1, 1>} {
    %thread = gpu.thread_id x
    %0 = memref.load %x[%thread] : memref<64xf32>
    memref.store %0, %y[%thread] : memref<64xf32>
    gpu.return
  }
}
