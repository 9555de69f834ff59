// Attention by warpgroups: all threads round a tile of keys and values, which products see behind a fence and a barrier.
// While values are multiplied by weights of the tile before, a thread has the scores of the next one.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s

// CHECK: gpu.launch_func @kernels::@attention_0 blocks in ({{.*}}) threads in ({{.*}}) dynamic_shared_memory_size
// CHECK-LABEL: gpu.func @attention_0
// CHECK-DAG: %keys_in_memory = memref.view {{.*}} to memref<64x68xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %keys = memref.view {{.*}} to memref<2x8x32x8xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %values = memref.view {{.*}} to memref<3x4x64x8xf16, #gpu.address_space<workgroup>>
// CHECK-DAG: %own_queries = memref.alloca() : memref<4x1xvector<8xf16>, #gpu.address_space<private>>
// CHECK: vector.store {{.*}}, %keys
// CHECK: vector.store {{.*}}, %values
// CHECK: nvgpu.proxy_fence
// CHECK-NEXT: gpu.barrier
// CHECK: nvgpu.warpgroup.mma {{.*}}, %keys[{{.*}}], %scores
// CHECK: nvgpu.warpgroup.wait 0
// CHECK: scf.for
// CHECK:   nvgpu.device_async_wait 0
// CHECK-NEXT: nvgpu.proxy_fence
// CHECK-NEXT: gpu.barrier
// CHECK:   nvgpu.device_async_copy
// CHECK:   nvgpu.warpgroup.mma {{.*}}, %keys[{{.*}}], %scores
// CHECK:   nvgpu.warpgroup.commit
// CHECK:   nvgpu.warpgroup.mma {{.*}}, %values[{{.*}}], %results
// CHECK:   nvgpu.warpgroup.commit
// CHECK:   vector.store {{.*}}, %keys
// CHECK:   nvgpu.warpgroup.wait 1
// CHECK:   math.exp2 {{.*}} fastmath<afn> : f32
// CHECK:   nvgpu.warpgroup.wait 0 behind %totals
// CHECK: nvgpu.warpgroup.mma {{.*}}, %values[{{.*}}], %results
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp16">} {
  func.func @main(%q: memref<1x2x128x64xf32>, %k: memref<1x2x128x64xf32>, %y: memref<1x2x128x64xf32>) {
    kernel.call @attention_0 ins(%q, %k : memref<1x2x128x64xf32>, memref<1x2x128x64xf32>) outs(%y : memref<1x2x128x64xf32>)
    func.return
  }
  graph.kernel @attention_0(%q: tensor<1x2x128x64xf32>, %k: tensor<1x2x128x64xf32>) -> tensor<1x2x128x64xf32> attributes {schedule = #kernel.schedule<"flash_wgmma", {warpgroups = 2, keys = 32}>, interface = #kernel.interface<>} {
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>, tensor<1x2x128x64xf32>) -> tensor<1x2x128x64xf32>
    graph.yield %a : tensor<1x2x128x64xf32>
  }
}
