// Attention without scores in memory: tiles of keys go through shared memory, and scores stay in registers.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s

// A block has 8 queries and goes over tiles of 32 keys.
// CHECK: gpu.launch_func @kernels::@attention_0 blocks in ({{.*}}) threads in ({{.*}}) dynamic_shared_memory_size
// One query: blocks that share the keys leave their sums in scratch, and a second launch puts them together.
// CHECK: gpu.launch_func @kernels::@attention_1_parts blocks in
// CHECK: gpu.launch_func @kernels::@attention_1_whole blocks in

// CHECK-LABEL: gpu.func @attention_0
// CHECK-DAG: %queries = memref.view {{.*}} to memref<8x36xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %keys = memref.view {{.*}} to memref<64x36xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %scores = memref.alloca() : memref<2x2xf32, #gpu.address_space<private>>
// The first tile is copied; then each next one while the one before it is used.
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_create_group
// CHECK: scf.for
// CHECK: scf.if
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_wait 1
// CHECK: } else {
// CHECK-NEXT: nvgpu.device_async_wait 0
// CHECK: gpu.barrier
// CHECK: math.fma
// Four shuffles give all 16 lanes the largest score of a row.
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: vector.fma
// CHECK: gpu.barrier

// CHECK-LABEL: gpu.func @attention_1_parts
// CHECK-LABEL: gpu.func @attention_1_whole
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%q: memref<1x2x64x32xf32>, %k: memref<1x2x64x32xf32>, %y: memref<1x2x64x32xf32>,
                  %d: memref<1x2x1x32xf32>, %c: memref<1x2x900x32xf32>, %z: memref<1x2x1x32xf32>, %s: memref<2176xi8>) {
    kernel.call @attention_0 ins(%q, %k : memref<1x2x64x32xf32>, memref<1x2x64x32xf32>) outs(%y : memref<1x2x64x32xf32>)
    kernel.call @attention_1 ins(%d, %c : memref<1x2x1x32xf32>, memref<1x2x900x32xf32>) outs(%z : memref<1x2x1x32xf32>) scratch(%s : memref<2176xi8>)
    func.return
  }
  graph.kernel @attention_0(%q: tensor<1x2x64x32xf32>, %k: tensor<1x2x64x32xf32>) -> tensor<1x2x64x32xf32> attributes {schedule = #kernel.schedule<"flash", {rows = 2, groups = 4, keys = 2}>, interface = #kernel.interface<>} {
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) -> tensor<1x2x64x32xf32>
    graph.yield %a : tensor<1x2x64x32xf32>
  }
  graph.kernel @attention_1(%q: tensor<1x2x1x32xf32>, %k: tensor<1x2x900x32xf32>) -> tensor<1x2x1x32xf32> attributes {schedule = #kernel.schedule<"flash", {rows = 1, groups = 4, keys = 4, splits = 8}>, interface = #kernel.interface<scratch = 2176>} {
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<1x2x1x32xf32>, tensor<1x2x900x32xf32>, tensor<1x2x900x32xf32>) -> tensor<1x2x1x32xf32>
    graph.yield %a : tensor<1x2x1x32xf32>
  }
}
