// A product in tiles: operands go to shared memory while others are used, sums stay in registers.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK: gpu.launch_func @kernels::@matmul_add_0 {{.*}} dynamic_shared_memory_size

// CHECK-LABEL: gpu.func @matmul_add_0(
// CHECK: %left_tile = memref.view {{.*}} to memref<3x[[ROWS:[0-9]+]]x20xf32, #gpu.address_space<workgroup>>
// CHECK: %right_tile = memref.view {{.*}} to memref<3x16x[[COLUMNS:[0-9]+]]xf32, #gpu.address_space<workgroup>>
// CHECK: %sums = memref.alloca() : memref<{{.*}}xf32, #gpu.address_space<private>>

// The first two tiles of the depth are on their way before the loop.
// CHECK: nvgpu.device_async_copy {{.*}} %left_tile[{{.*}}], 4
// CHECK: nvgpu.device_async_copy {{.*}} %right_tile[{{.*}}], 4
// CHECK: nvgpu.device_async_create_group
// CHECK: scf.for
// CHECK-NEXT: nvgpu.device_async_wait 1
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: nvgpu.device_async_copy
// CHECK: nvgpu.device_async_create_group
// CHECK: math.fma
// CHECK: vector.store {{.*}} : memref<{{.*}}>, vector<4xf32>
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<2000x256xf32>, %w: tensor<256x64xf32>, %b: tensor<64xf32>) -> tensor<2000x64xf32> {
    %p = graph.matmul %x, %w : (tensor<2000x256xf32>, tensor<256x64xf32>) -> tensor<2000x64xf32>
    %y = graph.add %p, %b : (tensor<2000x64xf32>, tensor<64xf32>) -> tensor<2000x64xf32>
    func.return %y : tensor<2000x64xf32>
  }
}
