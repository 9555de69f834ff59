// RUN: mini-opt %s | mini-opt - | filecheck %s
// RUN: mini-opt %s --print-op-generic | mini-opt - | filecheck %s

// Operations on kernels have the forms that MLIR's have, and print and parse from the generic form too.
// CHECK-LABEL: @main
// CHECK:         gpu.launch_func @kernels::@scale blocks in (%one, %one, %one) threads in (%n, %one, %one)
// CHECK-SAME:      dynamic_shared_memory_size %s args(%x : memref<64xf32>, %a : memref<4096xi8>) {onnx.nodes = ["/a"]}
// CHECK-NEXT:    gpu.launch_func @kernels::@nothing blocks in (%one, %one, %one) threads in (%n, %one, %one){{$}}
// CHECK:       gpu.module @kernels {
// CHECK-NEXT:    gpu.func @scale(%x: memref<64xf32>, %a: memref<4096xi8>) kernel
// CHECK-SAME:      attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
// CHECK-NEXT:      gpu.thread_id x
// CHECK-NEXT:      gpu.block_id y
// CHECK-NEXT:      gpu.barrier
// CHECK-NEXT:      gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK:           nvgpu.device_async_copy %x[%i], %t[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
// CHECK-NEXT:      nvgpu.device_async_copy %x[%i], %t[%i], 4, %b : memref<64xf32> to
// CHECK-NEXT:      nvgpu.device_async_create_group
// CHECK-NEXT:      nvgpu.device_async_wait 1
// CHECK-NEXT:      gpu.return
// CHECK:         gpu.func @nothing() kernel {
func.func @main(%x: memref<64xf32>, %a: memref<4096xi8>) {
  %one = arith.constant 1 : index
  %n = arith.constant 32 : index
  %s = arith.constant 1024 : i32
  gpu.launch_func @kernels::@scale blocks in (%one, %one, %one) threads in (%n, %one, %one) dynamic_shared_memory_size %s args(%x : memref<64xf32>, %a : memref<4096xi8>) {onnx.nodes = ["/a"]}
  gpu.launch_func @kernels::@nothing blocks in (%one, %one, %one) threads in (%n, %one, %one)
  func.return
}
gpu.module @kernels {
  gpu.func @scale(%x: memref<64xf32>, %a: memref<4096xi8>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %i = gpu.thread_id x
    %b = gpu.block_id y
    gpu.barrier
    %s = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %t = memref.view %s[%i][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    nvgpu.device_async_copy %x[%i], %t[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    nvgpu.device_async_copy %x[%i], %t[%i], 4, %b : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>
    nvgpu.device_async_create_group
    nvgpu.device_async_wait 1
    gpu.return
  }
  gpu.func @nothing() kernel {
    gpu.return
  }
}

// CHECK:           gpu.shuffle xor %v, %o, %w : f32
// CHECK-NEXT:      nvgpu.round_to_tf32 %v : f32
// CHECK-NEXT:      nvgpu.ldmatrix %h[%i, %i] {numTiles = 4 : i32, transpose = true} : memref<16x40xf16, #gpu.address_space<workgroup>> -> vector<8xf16>
// CHECK-NEXT:      nvgpu.mma.sync(%a, %b, %c) : (vector<8xf16>, vector<4xf16>, vector<4xf32>) -> vector<4xf32>
gpu.module @warps {
  gpu.func @warp(%h: memref<16x40xf16, #gpu.address_space<workgroup>>, %i: index) kernel {
    %v = arith.constant 1.0 : f32
    %o = arith.constant 16 : i32
    %w = arith.constant 32 : i32
    %a = arith.constant dense<1.0> : vector<8xf16>
    %b = arith.constant dense<1.0> : vector<4xf16>
    %c = arith.constant dense<1.0> : vector<4xf32>
    %r, %valid = gpu.shuffle xor %v, %o, %w : f32
    %t = nvgpu.round_to_tf32 %v : f32
    %l = nvgpu.ldmatrix %h[%i, %i] {numTiles = 4 : i32, transpose = true} : memref<16x40xf16, #gpu.address_space<workgroup>> -> vector<8xf16>
    %d = nvgpu.mma.sync(%a, %b, %c) : (vector<8xf16>, vector<4xf16>, vector<4xf32>) -> vector<4xf32>
    gpu.return
  }
}
