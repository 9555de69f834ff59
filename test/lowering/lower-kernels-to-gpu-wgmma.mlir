// A product by warpgroups: one thread copies packed tiles of the weight, and all wait for them; the rows go through
// registers, rounded, while products of the fragments before are in flight.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK-LABEL: gpu.func @matmul_0(%{{.*}}: memref<4096x1024xf32>, %{{.*}}: memref<1x{{.*}}x256x{{.*}}x4xf32>
// CHECK:       %right_tile = memref.view {{.*}}x4xf32, #gpu.address_space<workgroup>>
// CHECK:       %copied = nvgpu.mbarrier.create
// CHECK-NEXT:  %[[FIRST:.*]] = arith.cmpi eq, %thread
// CHECK-NEXT:  scf.if %[[FIRST]] {
// CHECK:         nvgpu.mbarrier.init %copied
// CHECK:         nvgpu.mbarrier.fence
// CHECK:       gpu.barrier
// CHECK:       nvgpu.device_async_wait
// CHECK:       nvgpu.mbarrier.try_wait.parity %copied
// CHECK-NEXT:  gpu.barrier
// CHECK:       nvgpu.device_async_copy {{.*}} %left_tile
// CHECK:       scf.if %[[FIRST]] {
// CHECK-NEXT:    nvgpu.mbarrier.arrive.expect_tx %copied
// CHECK:         nvgpu.bulk_async_copy {{.*}} %right_tile
// CHECK:       nvgpu.round_to_tf32
// CHECK:       nvgpu.warpgroup.fence
// CHECK:       nvgpu.warpgroup.mma {{.*}} %right_tile[{{.*}}], %sums : vector<4xf32>
// CHECK-NEXT:  nvgpu.warpgroup.commit
// CHECK:       nvgpu.warpgroup.wait 0
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "tf32", multiprocessors = 132, shared = 232448, tensor_gflops = 494000>} {
  func.func @main(%x: tensor<4096x1024xf32>) -> tensor<4096x1024xf32> {
    %w = graph.weight #graph.blob<"", 0, 4194304, "a"> : tensor<1024x1024xf32>
    %y = graph.matmul %x, %w : (tensor<4096x1024xf32>, tensor<1024x1024xf32>) -> tensor<4096x1024xf32>
    func.return %y : tensor<4096x1024xf32>
  }
}
