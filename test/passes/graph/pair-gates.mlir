// RUN: mini-opt %s -p pair-gates --split-input-file | filecheck %s

// A gate and what it is the factor of are halves of one product. Biases stay where they are.
// CHECK-LABEL: @gate
// CHECK:       %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x12xf32>
// CHECK-NEXT:  %[[P:.*]] = graph.matmul %x, %[[W]] : (tensor<2x3x8xf32>, tensor<8x12xf32>) -> tensor<2x3x12xf32>
// CHECK-NEXT:  %[[G:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 0, 0>, stops = array<i64: 2, 3, 6>
// CHECK-NEXT:  %[[U:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 0, 6>, stops = array<i64: 2, 3, 12>
// CHECK:       %[[B:.*]] = graph.add %[[G]]
// CHECK:       %[[S:.*]] = graph.silu %[[B]]
// CHECK:       graph.mul %[[S]], %[[U]]
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @gate(%x: tensor<2x3x8xf32>) -> tensor<2x3x6xf32> {
    %wg = graph.weight #graph.blob<"", 0, 192, "a"> : tensor<8x6xf32>
    %bg = graph.weight #graph.blob<"", 192, 24, "b"> : tensor<6xf32>
    %g = graph.matmul %x, %wg : (tensor<2x3x8xf32>, tensor<8x6xf32>) -> tensor<2x3x6xf32>
    %1 = graph.add %g, %bg : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
    %2 = graph.silu %1 : tensor<2x3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %u = graph.matmul %x, %wu : (tensor<2x3x8xf32>, tensor<8x6xf32>) -> tensor<2x3x6xf32>
    %y = graph.mul %2, %u : tensor<2x3x6xf32>
    func.return %y : tensor<2x3x6xf32>
  }
}

// -----

// Halves of a product with a bias get theirs each.
// CHECK-LABEL: @merged
// CHECK:       %[[P:.*]] = graph.matmul
// CHECK:       %[[G:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 0>, stops = array<i64: 3, 6>
// CHECK:       %[[BG:.*]] = graph.slice %b {starts = array<i64: 0>, stops = array<i64: 6>
// CHECK:       %[[G1:.*]] = graph.add %[[G]], %[[BG]]
// CHECK:       %[[U:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 6>, stops = array<i64: 3, 12>
// CHECK:       %[[BU:.*]] = graph.slice %b {starts = array<i64: 6>, stops = array<i64: 12>
// CHECK:       %[[U1:.*]] = graph.add %[[U]], %[[BU]]
// CHECK:       %[[S:.*]] = graph.sigmoid %[[G1]]
// CHECK:       graph.mul %[[S]], %[[U1]]
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @merged(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
    %w = graph.weight #graph.blob<"", 0, 384, "a"> : tensor<8x12xf32>
    %b = graph.weight #graph.blob<"", 384, 48, "b"> : tensor<12xf32>
    %p = graph.matmul %x, %w : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
    %1 = graph.add %p, %b : (tensor<3x12xf32>, tensor<12xf32>) -> tensor<3x12xf32>
    %g = graph.slice %1 {starts = array<i64: 0, 0>, stops = array<i64: 3, 6>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
    %u = graph.slice %1 {starts = array<i64: 0, 6>, stops = array<i64: 3, 12>, steps = array<i64: 1, 1>} : (tensor<3x12xf32>) -> tensor<3x6xf32>
    %s = graph.sigmoid %g : tensor<3x6xf32>
    %y = graph.mul %s, %u : tensor<3x6xf32>
    func.return %y : tensor<3x6xf32>
  }
}

// -----

// A product that somebody else reads, too, has to be stored anyway.
// CHECK-LABEL: @stored_anyway
// CHECK-NOT:   graph.slice
// CHECK:       func.return
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @stored_anyway(%x: tensor<3x8xf32>) -> (tensor<3x6xf32>, tensor<3x6xf32>) {
    %wg = graph.weight #graph.blob<"", 0, 192, "a"> : tensor<8x6xf32>
    %g = graph.matmul %x, %wg : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 192, "b"> : tensor<8x6xf32>
    %u = graph.matmul %x, %wu : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %y = graph.mul %g, %u : tensor<3x6xf32>
    func.return %y, %u : tensor<3x6xf32>, tensor<3x6xf32>
  }
}

// -----

// Nor are products of different left-hand sides halves of one, whatever joins them.
// CHECK-LABEL: @other_sides
// CHECK-NOT:   graph.slice
// CHECK:       func.return
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @other_sides(%x: tensor<3x8xf32>, %z: tensor<3x8xf32>) -> tensor<3x6xf32> {
    %wg = graph.weight #graph.blob<"", 0, 192, "a"> : tensor<8x6xf32>
    %g = graph.matmul %x, %wg : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 192, "b"> : tensor<8x6xf32>
    %u = graph.matmul %z, %wu : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %y = graph.mul %g, %u : tensor<3x6xf32>
    func.return %y : tensor<3x6xf32>
  }
}

// -----

// On a GPU the two stay, one behind the other.
// CHECK-LABEL: @on_a_gpu
// CHECK-NOT:   graph.slice
// CHECK:       func.return
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @on_a_gpu(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
    %wg = graph.weight #graph.blob<"", 0, 192, "a"> : tensor<8x6xf32>
    %g = graph.matmul %x, %wg : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 192, "b"> : tensor<8x6xf32>
    %u = graph.matmul %x, %wu : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %y = graph.mul %g, %u : tensor<3x6xf32>
    func.return %y : tensor<3x6xf32>
  }
}

// -----

// The left-hand side of the paired product may be rounded if those of both products may.
// CHECK-LABEL: @may_be_rounded
// CHECK:       graph.matmul %x, %{{.*}} {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x12xf32>) -> tensor<3x12xf32>
// CHECK-LABEL: @one_of_them
// CHECK-NOT:   graph.slice
// CHECK:       func.return
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @may_be_rounded(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
    %wg = graph.weight #graph.blob<"", 0, 192, "a"> : tensor<8x6xf32>
    %g = graph.matmul %x, %wg {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %1 = graph.silu %g : tensor<3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %u = graph.matmul %x, %wu {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %y = graph.mul %1, %u : tensor<3x6xf32>
    func.return %y : tensor<3x6xf32>
  }
  func.func @one_of_them(%x: tensor<3x8xf32>) -> tensor<3x6xf32> {
    %wg = graph.weight #graph.blob<"", 0, 192, "a"> : tensor<8x6xf32>
    %g = graph.matmul %x, %wg {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %1 = graph.silu %g : tensor<3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %u = graph.matmul %x, %wu : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %y = graph.mul %1, %u : tensor<3x6xf32>
    func.return %y : tensor<3x6xf32>
  }
}

// -----

// Block-quantised weights of a gate are joined at once; those of other blocks, or zero points, are not.
// CHECK-LABEL: @blocks
// CHECK:         %[[B:.*]] = graph.block_weight %{{.*}}, %{{.*}} {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64} : (tensor<4x1xui8>, tensor<4x1xf32>) -> tensor<4x2xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %x, %[[B]] {transpose_b} : (tensor<5x2xf32>, tensor<4x2xf32>) -> tensor<5x4xf32>
// CHECK-LABEL: @another_middle
// CHECK-NOT:     graph.slice
// CHECK:         func.return
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @blocks(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
    %w = graph.constant dense<[[1], [2]]> : tensor<2x1xui8>
    %s = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
    %b = graph.block_weight %w, %s {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64} : (tensor<2x1xui8>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %0 = graph.matmul %x, %b {transpose_b} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %1 = graph.silu %0 : tensor<5x2xf32>
    %v = graph.constant dense<[[3], [4]]> : tensor<2x1xui8>
    %c = graph.block_weight %v, %s {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64} : (tensor<2x1xui8>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %2 = graph.matmul %x, %c {transpose_b} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %y = graph.mul %1, %2 : tensor<5x2xf32>
    func.return %y : tensor<5x2xf32>
  }
  func.func @another_middle(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
    %w = graph.constant dense<[[1], [2]]> : tensor<2x1xui8>
    %s = graph.constant dense<[[1.0], [2.0]]> : tensor<2x1xf32>
    %b = graph.block_weight %w, %s {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64} : (tensor<2x1xui8>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %0 = graph.matmul %x, %b {transpose_b} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %1 = graph.silu %0 : tensor<5x2xf32>
    %c = graph.block_weight %w, %s {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 7 : i64} : (tensor<2x1xui8>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %2 = graph.matmul %x, %c {transpose_b} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %y = graph.mul %1, %2 : tensor<5x2xf32>
    func.return %y : tensor<5x2xf32>
  }
}
