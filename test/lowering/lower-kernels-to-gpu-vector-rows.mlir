// One row times a matrix: its rows are read four columns at a time, each by another part of the block.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK-LABEL: gpu.func @matmul_add_0(
// CHECK: scf.for
// CHECK: vector.load {{.*}} : memref<196608xf32, {{.*}}>, vector<4xf32>
// CHECK: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: vector.store {{.*}}vector<4xf32>

// Where the depth is contiguous, the lanes of a warp go along it.
// CHECK-LABEL: gpu.func @matmul_0(
// CHECK: %[[SIXTEEN:.*]] = arith.constant 16 : i32
// CHECK: vector.load {{.*}}vector<4xf32>
// CHECK: gpu.shuffle xor {{.*}}, %[[SIXTEEN]]
// CHECK-NOT: gpu.barrier
// CHECK: memref.store
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<1x768xf32>, %w: tensor<768x256xf32>, %b: tensor<256xf32>, %v: tensor<500x256xf32>)
      -> tensor<1x500xf32> {
    %p = graph.matmul %x, %w : (tensor<1x768xf32>, tensor<768x256xf32>) -> tensor<1x256xf32>
    %h = graph.add %p, %b : (tensor<1x256xf32>, tensor<256xf32>) -> tensor<1x256xf32>
    %y = graph.matmul %h, %v {transpose_b} : (tensor<1x256xf32>, tensor<500x256xf32>) -> tensor<1x500xf32>
    func.return %y : tensor<1x500xf32>
  }
}
