// Attention by tensor units: queries, scores and results of a warp are fragments; weights are one as they lie.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s

// CHECK: gpu.launch_func @kernels::@attention_0 blocks in ({{.*}}) threads in ({{.*}}) dynamic_shared_memory_size
// CHECK-LABEL: gpu.func @attention_0
// CHECK-DAG: %keys = memref.view {{.*}} to memref<64x40xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %own_queries = memref.alloca() : memref<4x1xvector<4xf32>, #gpu.address_space<private>>
// CHECK: nvgpu.round_to_tf32
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.mma.sync
// A row lies across four lanes.
// CHECK-COUNT-2: gpu.shuffle xor
// CHECK: math.exp
// CHECK: nvgpu.mma.sync
// The two warps that share queries add up what they have.
// CHECK: %parts = memref.view
// CHECK: gpu.barrier
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80" computing "tf32">} {
  func.func @main(%q: memref<1x2x64x32xf32>, %k: memref<1x2x64x32xf32>, %y: memref<1x2x64x32xf32>) {
    kernel.call @attention_0 ins(%q, %k : memref<1x2x64x32xf32>, memref<1x2x64x32xf32>) outs(%y : memref<1x2x64x32xf32>)
    func.return
  }
  graph.kernel @attention_0(%q: tensor<1x2x64x32xf32>, %k: tensor<1x2x64x32xf32>) -> tensor<1x2x64x32xf32> attributes {schedule = #kernel.schedule<"flash_tensor", {row_warps = 2, key_warps = 2, keys = 2}>, interface = #kernel.interface<>} {
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>, tensor<1x2x64x32xf32>) -> tensor<1x2x64x32xf32>
    graph.yield %a : tensor<1x2x64x32xf32>
  }
}
