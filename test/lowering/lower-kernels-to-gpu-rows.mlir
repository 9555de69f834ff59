// Rows by warps, by blocks and by columns of threads; parts of long rows meet in scratch.
// RUN: mini-opt %s --to launches | filecheck %s

// 4096 rows of 64 elements: part of a warp has one, and no thread waits for another warp.
// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func @kernels::@softmax_0
// One row of a million elements is cut into 32 parts; what they sum up to is put together by one warp.
// CHECK: gpu.launch_func @kernels::@reduce_sum_0_pass0
// CHECK: gpu.launch_func @kernels::@reduce_sum_0_result
// CHECK: gpu.launch_func @kernels::@reduce_mean_0

// CHECK: gpu.func @softmax_0
// CHECK-NOT: gpu.barrier
// CHECK: gpu.shuffle xor

// Sums of vectors, lanes, warps; one thread writes that of the part.
// CHECK: gpu.func @reduce_sum_0_pass0
// CHECK: vector.load {{.*}}, vector<4xf32>
// CHECK: vector.extract
// CHECK: gpu.shuffle xor
// CHECK: %of_warps = memref.view
// CHECK: gpu.barrier
// CHECK: gpu.shuffle xor
// CHECK: memref.view {{.*}} to memref<32xf32>
// CHECK: memref.store

// CHECK: gpu.func @reduce_sum_0_result
// CHECK-NOT: scf.for
// CHECK: gpu.shuffle xor
// CHECK: memref.store

// Four neighbouring channels at once; the shares of 49 pixels are put together in shared memory.
// CHECK: gpu.func @reduce_mean_0
// CHECK: vector.load {{.*}}, vector<4xf32>
// CHECK: %of_shares = memref.view
// CHECK: gpu.barrier
// CHECK: vector.store {{.*}}, vector<4xf32>
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a", multiprocessors = 132, gflops = 67000, gbytes = 4300>} {
  func.func @main(%x: tensor<4096x64xf32>, %y: tensor<1x1048576xf32>, %z: tensor<1x7x7x2048xf32>)
      -> (tensor<4096x64xf32>, tensor<1xf32>, tensor<1x2048xf32>) {
    %a = graph.softmax %x {axis = 1 : i64} : (tensor<4096x64xf32>) -> tensor<4096x64xf32>
    %b = graph.reduce_sum %y {axes = array<i64: 1>} : (tensor<1x1048576xf32>) -> tensor<1xf32>
    %c = graph.reduce_mean %z {axes = array<i64: 1, 2>} : (tensor<1x7x7x2048xf32>) -> tensor<1x2048xf32>
    func.return %a, %b, %c : tensor<4096x64xf32>, tensor<1xf32>, tensor<1x2048xf32>
  }
}
