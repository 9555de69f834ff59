// Every kernel becomes functions for a GPU, and main a list of launches.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK: mini_infer.level = "launches"
// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG: %[[THREE:.*]] = arith.constant 3 : index
// CHECK-DAG: %[[TEN:.*]] = arith.constant 10 : index
// CHECK-DAG: %[[BLOCK:.*]] = arith.constant 64 : index
// CHECK: gpu.launch_func @kernels::@add_relu_0 blocks in (%[[THREE]], %[[ONE]], %[[ONE]]) threads in (%[[BLOCK]], %[[ONE]], %[[ONE]]) args(%x
// CHECK: gpu.launch_func @kernels::@transpose_0 blocks in (%[[TEN]], %[[ONE]], %[[ONE]])

// 600 elements by four: 150 threads work, the others of the third block do nothing.
// CHECK: gpu.func @add_relu_0
// CHECK-DAG: %[[LAST:.*]] = arith.constant 150 : index
// CHECK-DAG: %[[T:.*]] = gpu.thread_id x
// CHECK-DAG: %[[B:.*]] = gpu.block_id x
// CHECK: %[[I:.*]] = arith.addi
// CHECK: arith.cmpi ult, %[[I]], %[[LAST]]
// CHECK-NEXT: scf.if
// CHECK: vector.load {{.*}}, vector<4xf32>
// CHECK: vector.store {{.*}}, vector<4xf32>

// What is read 300 elements apart goes one by one.
// CHECK: gpu.func @transpose_0
// CHECK-NOT: vector
// CHECK: memref.load
// CHECK: memref.store
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<2x300xf32>, %w: tensor<300xf32>) -> (tensor<2x300xf32>, tensor<300x2xf32>) {
    %a = graph.add %x, %w : (tensor<2x300xf32>, tensor<300xf32>) -> tensor<2x300xf32>
    %y = graph.relu %a : tensor<2x300xf32>
    %z = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<2x300xf32>) -> tensor<300x2xf32>
    func.return %y, %z : tensor<2x300xf32>, tensor<300x2xf32>
  }
}
