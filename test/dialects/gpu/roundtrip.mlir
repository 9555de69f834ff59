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

// CHECK:           nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
// CHECK-NEXT:      nvgpu.mbarrier.init %b[%i], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
// CHECK-NEXT:      nvgpu.mbarrier.fence
// CHECK-NEXT:      nvgpu.mbarrier.arrive.expect_tx %b[%i], %c1 : !nvgpu.mbarrier.group<
// CHECK-NEXT:      nvgpu.bulk_async_copy %x[%i], %t[%i, %i, %i, %i], %b[%i], 1024 : memref<4096xf32> to memref<3x4x64x4xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<
// CHECK-NEXT:      nvgpu.mbarrier.try_wait.parity %b[%i], %phase, %c1 : !nvgpu.mbarrier.group<
// CHECK-NEXT:      nvgpu.mbarrier.arrive %b[%i] : !nvgpu.mbarrier.group<
// CHECK-NEXT:      nvgpu.setmaxregister increase 232
// CHECK-NEXT:      nvgpu.proxy_fence
// CHECK-NEXT:      nvgpu.warpgroup.fence
// CHECK-NEXT:      nvgpu.warpgroup.mma %a, %t[%i, %i, %i, %i], %sums : vector<4xf32>, memref<3x4x64x4xf32, #gpu.address_space<workgroup>>, memref<8x4xf32, #gpu.address_space<private>>
// CHECK-NEXT:      nvgpu.warpgroup.commit
// CHECK-NEXT:      nvgpu.warpgroup.wait 1 behind %f : memref<2xf32, #gpu.address_space<private>>
// CHECK-NEXT:      nvgpu.warpgroup.wait 0
gpu.module @warpgroups {
  gpu.func @warpgroup(%x: memref<4096xf32>) kernel {
    %i = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %phase = arith.constant false
    %a = arith.constant dense<1.0> : vector<4xf32>
    %sums = memref.alloca() : memref<8x4xf32, #gpu.address_space<private>>
    %f = memref.alloca() : memref<2xf32, #gpu.address_space<private>>
    %s = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %t = memref.view %s[%c1][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<3x4x64x4xf32, #gpu.address_space<workgroup>>
    %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.mbarrier.init %b[%i], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.mbarrier.fence
    nvgpu.mbarrier.arrive.expect_tx %b[%i], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.bulk_async_copy %x[%i], %t[%i, %i, %i, %i], %b[%i], 1024 : memref<4096xf32> to memref<3x4x64x4xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.mbarrier.try_wait.parity %b[%i], %phase, %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.mbarrier.arrive %b[%i] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    nvgpu.setmaxregister increase 232
    nvgpu.proxy_fence
    nvgpu.warpgroup.fence
    nvgpu.warpgroup.mma %a, %t[%i, %i, %i, %i], %sums : vector<4xf32>, memref<3x4x64x4xf32, #gpu.address_space<workgroup>>, memref<8x4xf32, #gpu.address_space<private>>
    nvgpu.warpgroup.commit
    nvgpu.warpgroup.wait 1 behind %f : memref<2xf32, #gpu.address_space<private>>
    nvgpu.warpgroup.wait 0
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @clusters
// CHECK-NEXT:  gpu.func @parts(%t: memref<8x8xi32, #gpu.address_space<workgroup>>, %i: index) kernel
// CHECK-SAME:    attributes {gpu.known_cluster_size = array<i32: 4, 1, 1>} {
// CHECK-NEXT:      nvgpu.cluster_barrier
// CHECK-NEXT:      nvgpu.cluster_load %t[%i, %i] of %i : memref<8x8xi32, #gpu.address_space<workgroup>> -> vector<4xi32>
// CHECK-NEXT:      nvgpu.cluster_load %t[%i, %i] of %i : memref<8x8xi32, #gpu.address_space<workgroup>> -> i32
gpu.module @clusters {
  gpu.func @parts(%t: memref<8x8xi32, #gpu.address_space<workgroup>>, %i: index) kernel attributes {gpu.known_cluster_size = array<i32: 4, 1, 1>} {
    nvgpu.cluster_barrier
    %four = nvgpu.cluster_load %t[%i, %i] of %i : memref<8x8xi32, #gpu.address_space<workgroup>> -> vector<4xi32>
    %one = nvgpu.cluster_load %t[%i, %i] of %i : memref<8x8xi32, #gpu.address_space<workgroup>> -> i32
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @cooperative
// CHECK-NEXT:  gpu.func @steps(%counter: memref<1xi32>, %scratch: memref<1xi32, strided<[1], offset: ?>>) kernel
// CHECK-SAME:    attributes {nvgpu.cooperative} {
// CHECK-NEXT:      nvgpu.grid_barrier %counter : memref<1xi32>
// CHECK-NEXT:      nvgpu.grid_barrier %scratch : memref<1xi32, strided<[1], offset: ?>>
gpu.module @cooperative {
  gpu.func @steps(%counter: memref<1xi32>, %scratch: memref<1xi32, strided<[1], offset: ?>>) kernel attributes {nvgpu.cooperative} {
    nvgpu.grid_barrier %counter : memref<1xi32>
    nvgpu.grid_barrier %scratch : memref<1xi32, strided<[1], offset: ?>>
    gpu.return
  }
}

// CHECK-LABEL: gpu.module @tensor_maps
// CHECK:           nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
// CHECK-NEXT:      nvgpu.tma.async.load %m[%i, %i], %b[%i] to %t[%i, %i, %i] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> memref<3x16x32xf32, #gpu.address_space<workgroup>>
gpu.module @tensor_maps {
  gpu.func @boxes(%x: memref<50x64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %s = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %t = memref.view %s[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<3x16x32xf32, #gpu.address_space<workgroup>>
    %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
    nvgpu.tma.async.load %m[%i, %i], %b[%i] to %t[%i, %i, %i] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3> -> memref<3x16x32xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
}
