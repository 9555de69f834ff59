// A product by warpgroups where a third one only copies: rows as swizzled boxes of their tensor, and the packed weight.
// The others wait for a stage, multiply, and free it. Bytes of both operands are announced together.
// RUN: mini-opt %s --to launches | filecheck %s
// RUN: mini-opt %s -t launches | filecheck %s --check-prefix=LAUNCH
// LAUNCH: matmul_0  32x4  384    196608  input+0, weights+0, output+0, 128x32 of input+0

// CHECK-LABEL: gpu.func @matmul_0(%{{.*}}: memref<4096x1024xf32>, %{{.*}}: memref<1x4x{{.*}}xf16>
// CHECK-SAME:    gpu.known_block_size = array<i32: 384, 1, 1>
// CHECK:       %left_tile = memref.view {{.*}} to memref<3x2x128x32xf32, #gpu.address_space<workgroup>>
// CHECK:       %[[V:.*]] = memref.reinterpret_cast {{.*}} : memref<4096x1024xf32> to memref<4096x1024xf32
// CHECK-NEXT:  %rows = nvgpu.tma.create.descriptor %[[V]] {{.*}} swizzle = swizzle_128b
// CHECK:       nvgpu.mbarrier.init %copied
// CHECK:       nvgpu.mbarrier.init %free
// CHECK:       nvgpu.setmaxregister increase 232
// CHECK:       nvgpu.mbarrier.try_wait.parity %copied
// CHECK:       nvgpu.ldmatrix %left_tile
// CHECK:       nvgpu.warpgroup.mma
// CHECK:       nvgpu.warpgroup.wait 0
// CHECK:       nvgpu.mbarrier.arrive %free
// CHECK:       nvgpu.setmaxregister decrease 40
// CHECK:       nvgpu.mbarrier.try_wait.parity %free
// CHECK:       nvgpu.mbarrier.arrive.expect_tx %copied
// CHECK:       nvgpu.tma.async.load %rows[{{.*}}], %copied{{.*}} to %left_tile
// CHECK:       nvgpu.bulk_async_copy {{.*}} %right_tile
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp16", multiprocessors = 132, shared = 232448, l2 = 52428800, gflops = 67000, tensor_gflops = 989000, gbytes = 4300>} {
  func.func @main(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
    %w = graph.weight #graph.blob<"", 0, 4194304, "a"> : tensor<1024x1024xf32>
    %y = graph.matmul %x, %w : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
    func.return %y : tensor<4096x1024xf32>
  }
}
