// RUN: mini-opt %s -p form-kernels,choose-schedule --split-input-file | filecheck %s

// What joins the halves of a product's columns is done with it; a panel of the weight has columns of both.
// CHECK-LABEL: func.func @main
// CHECK:         graph.call @matmul_mul_0
// CHECK-NEXT:    func.return
// CHECK:       graph.kernel @matmul_mul_0
// CHECK-SAME:    packed = [1 : #kernel.packing<"paired_panels", {nr = 8}>]
// CHECK:         graph.matmul
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.silu
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.yield
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @main(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
    %w = graph.weight #graph.blob<"", 0, 384, "a"> : tensor<8x12xf32>
    %p = graph.matmul %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
    %g = graph.slice %p {starts = array<i64: 0, 0>, stops = array<i64: 3, 6>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
    %u = graph.slice %p {starts = array<i64: 0, 6>, stops = array<i64: 3, 12>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
    %s = graph.silu %g : tensor<3x6xf32>
    %y = graph.mul %s, %u : tensor<3x6xf32>
    func.return %y : tensor<3x6xf32>
  }
}

// -----

// Where one half leaves by itself, and of parts that are no halves, slices are kernels of their own.
// CHECK-LABEL: func.func @main
// CHECK:         graph.call @matmul_0
// CHECK:         graph.call @matmul_0
// CHECK:       graph.kernel @matmul_0
// CHECK-SAME:    packed = [1 : #kernel.packing<"panels", {nr = 8}>]
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @main(%x: tensor<3x8xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x4xf32>) {
    %w = graph.weight #graph.blob<"", 0, 384, "a"> : tensor<8x12xf32>
    %p = graph.matmul %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
    %g = graph.slice %p {starts = array<i64: 0, 0>, stops = array<i64: 3, 6>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
    %u = graph.slice %p {starts = array<i64: 0, 6>, stops = array<i64: 3, 12>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
    %y = graph.mul %g, %u : tensor<3x6xf32>
    %v = graph.weight #graph.blob<"", 0, 384, "b"> : tensor<8x12xf32>
    %q = graph.matmul %x, %v : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
    %h = graph.slice %q {starts = array<i64: 0, 0>, stops = array<i64: 3, 4>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x4xf32>
    %i = graph.slice %q {starts = array<i64: 0, 8>, stops = array<i64: 3, 12>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x4xf32>
    %z = graph.mul %h, %i : tensor<3x4xf32>
    func.return %y, %u, %z : tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x4xf32>
  }
}
