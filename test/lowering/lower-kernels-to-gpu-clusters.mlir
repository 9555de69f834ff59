// Split-K in a cluster: a product with few tiles and much depth is one launch, and has no scratch.
// RUN: mini-opt %s --to launches | filecheck %s
// RUN: mini-opt %s -t cuda | filecheck %s --check-prefix TEXT

// CHECK: gpu.launch_func @kernels::@matmul_add_0 {{.*}} dynamic_shared_memory_size
// CHECK-NOT: gpu.launch_func

// Row tile and part of the depth are both along x.
// CHECK-LABEL: gpu.func @matmul_add_0(
// CHECK-SAME: gpu.known_cluster_size = array<i32: [[PARTS:[0-9]+]], 1, 1>
// CHECK: arith.constant [[PARTS]] : index
// CHECK: %split = arith.remui

// Once all threads are done with the tiles of the operands, sums take their place.
// CHECK: gpu.barrier
// CHECK: %sums_tile = memref.view %{{.*}}[%{{.*}}][] : {{.*}} to memref<{{.*}}xf32, #gpu.address_space<workgroup>>
// CHECK: vector.store {{.*}}, %sums_tile

// Each block adds the parts of its share, in order of the depth, and stores them.
// CHECK: nvgpu.cluster_barrier
// CHECK: scf.for
// CHECK: nvgpu.cluster_load %sums_tile{{.*}} -> vector<4xf32>
// CHECK: scf.for
// CHECK: nvgpu.cluster_load %sums_tile{{.*}} -> vector<4xf32>
// CHECK: arith.addf
// CHECK: vector.store {{.*}} : memref<{{.*}}>, vector<4xf32>
// CHECK: nvgpu.cluster_barrier
// CHECK-NEXT: gpu.return

// TEXT: DEVICE void cluster_barrier()
// TEXT: void __cluster_dims__([[PARTS:[0-9]+]], 1, 1) __launch_bounds__({{[0-9]+}}) matmul_add_0(
// TEXT: cluster_barrier();
// TEXT: cluster_load<4>(&sums_tile[
// TEXT: cluster_barrier();
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a", multiprocessors = 132>} {
  func.func @main(%x: tensor<196x1024xf32>, %w: tensor<1024x256xf32>, %b: tensor<256xf32>) -> tensor<196x256xf32> {
    %p = graph.matmul %x, %w : (tensor<196x1024xf32>, tensor<1024x256xf32>) -> tensor<196x256xf32>
    %y = graph.add %p, %b : (tensor<196x256xf32>, tensor<256xf32>) -> tensor<196x256xf32>
    func.return %y : tensor<196x256xf32>
  }
}
