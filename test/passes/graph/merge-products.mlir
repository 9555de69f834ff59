// RUN: mini-opt %s -p merge-products --split-input-file | filecheck %s

// Queries, keys and values of one left-hand side are parts of one product, read where they lie.
// CHECK-LABEL: @heads
// CHECK:       %[[W:.*]] = graph.concat %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<8x4xf32>, tensor<8x6xf32>) -> tensor<8x10xf32>
// CHECK-NEXT:  %[[P:.*]] = graph.matmul %x, %[[W]] : (tensor<2x3x8xf32>, tensor<8x10xf32>) -> tensor<2x3x10xf32>
// CHECK:       %[[B:.*]] = graph.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<4xf32>, tensor<6xf32>) -> tensor<10xf32>
// CHECK-NEXT:  %[[Y:.*]] = graph.add %[[P]], %[[B]]
// CHECK:       %[[Q:.*]] = graph.slice %[[Y]] {starts = array<i64: 0, 0, 0>, stops = array<i64: 2, 3, 4>
// CHECK-NEXT:  graph.reshape %[[Q]]
// CHECK:       %[[K:.*]] = graph.slice %[[Y]] {starts = array<i64: 0, 0, 4>, stops = array<i64: 2, 3, 10>
// CHECK-NEXT:  graph.reshape %[[K]]
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @heads(%x: tensor<2x3x8xf32>) -> (tensor<6x4xf32>, tensor<6x6xf32>) {
    %wq = graph.weight #graph.blob<"", 0, 128, "a"> : tensor<8x4xf32>
    %bq = graph.weight #graph.blob<"", 128, 16, "b"> : tensor<4xf32>
    %q = graph.matmul %x, %wq : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
    %1 = graph.add %q, %bq : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
    %y = graph.reshape %1 {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %wk = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %bk = graph.weight #graph.blob<"", 192, 24, "d"> : tensor<6xf32>
    %k = graph.matmul %x, %wk : (tensor<2x3x8xf32>, tensor<8x6xf32>) -> tensor<2x3x6xf32>
    %2 = graph.add %k, %bk : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
    %z = graph.reshape %2 {shape = array<i64: 6, 6>} : (tensor<2x3x6xf32>) -> tensor<6x6xf32>
    func.return %y, %z : tensor<6x4xf32>, tensor<6x6xf32>
  }
}

// -----

// An elementwise op would rather be done with a product of its own.
// CHECK-LABEL: @activation
// CHECK-NOT:   graph.slice
// CHECK:       func.return
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @activation(%x: tensor<2x3x8xf32>) -> (tensor<2x3x4xf32>, tensor<6x6xf32>) {
    %wq = graph.weight #graph.blob<"", 0, 128, "a"> : tensor<8x4xf32>
    %bq = graph.weight #graph.blob<"", 128, 16, "b"> : tensor<4xf32>
    %q = graph.matmul %x, %wq : (tensor<2x3x8xf32>, tensor<8x4xf32>) -> tensor<2x3x4xf32>
    %1 = graph.add %q, %bq : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
    %y = graph.relu %1 : tensor<2x3x4xf32>
    %wk = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %bk = graph.weight #graph.blob<"", 192, 24, "d"> : tensor<6xf32>
    %k = graph.matmul %x, %wk : (tensor<2x3x8xf32>, tensor<8x6xf32>) -> tensor<2x3x6xf32>
    %2 = graph.add %k, %bk : (tensor<2x3x6xf32>, tensor<6xf32>) -> tensor<2x3x6xf32>
    %z = graph.reshape %2 {shape = array<i64: 6, 6>} : (tensor<2x3x6xf32>) -> tensor<6x6xf32>
    func.return %y, %z : tensor<2x3x4xf32>, tensor<6x6xf32>
  }
}

// -----

// On a CPU attention must be what reads the parts: the product that is only looked at otherwise stays by itself.
// CHECK-LABEL: @on_a_cpu
// CHECK:       %[[P:.*]] = graph.matmul %x, %{{.*}} : (tensor<3x8xf32>, tensor<8x14xf32>) -> tensor<3x14xf32>
// CHECK-NEXT:  %[[Q:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 0>, stops = array<i64: 3, 4>
// CHECK:       %[[K:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 4>, stops = array<i64: 3, 8>
// CHECK:       %[[V:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 8>, stops = array<i64: 3, 14>
// CHECK:       %[[U:.*]] = graph.matmul %x, %wu
builtin.module attributes {kernel.target = #kernel.cpu<"znver3">} {
  func.func @on_a_cpu(%x: tensor<3x8xf32>) -> (tensor<1x1x3x6xf32>, tensor<4x3xf32>) {
    %wq = graph.weight #graph.blob<"", 0, 128, "a"> : tensor<8x4xf32>
    %q = graph.matmul %x, %wq : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = graph.reshape %q {shape = array<i64: 1, 1, 3, 4>} : (tensor<3x4xf32>) -> tensor<1x1x3x4xf32>
    %wk = graph.weight #graph.blob<"", 0, 128, "b"> : tensor<8x4xf32>
    %k = graph.matmul %x, %wk : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %2 = graph.reshape %k {shape = array<i64: 1, 1, 3, 4>} : (tensor<3x4xf32>) -> tensor<1x1x3x4xf32>
    %wv = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %v = graph.matmul %x, %wv : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %3 = graph.reshape %v {shape = array<i64: 1, 1, 3, 6>} : (tensor<3x6xf32>) -> tensor<1x1x3x6xf32>
    %4 = graph.attention %1, %2, %3 {scale = 1.000000e+00 : f64} : (tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x6xf32>) -> tensor<1x1x3x6xf32>
    %wu = graph.weight #graph.blob<"", 0, 128, "d"> : tensor<8x4xf32>
    %u = graph.matmul %x, %wu : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %5 = graph.transpose %u {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
    func.return %4, %5 : tensor<1x1x3x6xf32>, tensor<4x3xf32>
  }
}

// -----

// Products whose left-hand side may be rounded are merged with their like, and stay so.
// CHECK-LABEL: @may_be_rounded
// CHECK:       graph.matmul %x, %{{.*}} {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x10xf32>) -> tensor<3x10xf32>
// CHECK:       graph.matmul %x, %{{.*}} : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @may_be_rounded(%x: tensor<3x8xf32>) -> (tensor<4x3xf32>, tensor<6x3xf32>, tensor<2x3xf32>) {
    %a = graph.weight #graph.blob<"", 0, 128, "a"> : tensor<8x4xf32>
    %0 = graph.matmul %x, %a {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x4xf32>) -> tensor<3x4xf32>
    %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<3x4xf32>) -> tensor<4x3xf32>
    %b = graph.weight #graph.blob<"", 0, 192, "b"> : tensor<8x6xf32>
    %2 = graph.matmul %x, %b {lhs_as = i8} : (tensor<3x8xf32>, tensor<8x6xf32>) -> tensor<3x6xf32>
    %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<3x6xf32>) -> tensor<6x3xf32>
    %c = graph.weight #graph.blob<"", 0, 64, "c"> : tensor<8x2xf32>
    %4 = graph.matmul %x, %c : (tensor<3x8xf32>, tensor<8x2xf32>) -> tensor<3x2xf32>
    %5 = graph.transpose %4 {permutation = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
    func.return %1, %3, %5 : tensor<4x3xf32>, tensor<6x3xf32>, tensor<2x3xf32>
  }
}

// -----

// Block-quantised weights are joined at once, and biases with them.
// CHECK-LABEL: @blocks
// CHECK-DAG:     %[[W:.*]] = graph.constant dense<[[1], [2], [3]]> : tensor<3x1xui8>
// CHECK-DAG:     %[[S:.*]] = graph.constant dense<{{\[\[}}1.000000e+00], [2.000000e+00], [3.000000e+00]]> : tensor<3x1xf32>
// CHECK:         %[[B:.*]] = graph.block_weight %[[W]], %[[S]] {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64}
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %x, %[[B]] {transpose_b, lhs_as = i8} : (tensor<5x2xf32>, tensor<3x2xf32>) -> tensor<5x3xf32>
// CHECK:         graph.slice %[[P]] {starts = array<i64: 0, 0>, stops = array<i64: 5, 1>
// CHECK:         graph.slice %[[P]] {starts = array<i64: 0, 1>, stops = array<i64: 5, 3>
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @blocks(%x: tensor<5x2xf32>) -> (tensor<1x5xf32>, tensor<2x5xf32>) {
    %w = graph.constant dense<[[1]]> : tensor<1x1xui8>
    %s = graph.constant dense<[[1.0]]> : tensor<1x1xf32>
    %b = graph.block_weight %w, %s {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64} : (tensor<1x1xui8>, tensor<1x1xf32>) -> tensor<1x2xf32>
    %0 = graph.matmul %x, %b {transpose_b, lhs_as = i8} : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
    %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<5x1xf32>) -> tensor<1x5xf32>
    %v = graph.constant dense<[[2], [3]]> : tensor<2x1xui8>
    %t = graph.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
    %c = graph.block_weight %v, %t {bits = 4 : i64, block = 2 : i64, depth = 2 : i64, middle = 8 : i64} : (tensor<2x1xui8>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %2 = graph.matmul %x, %c {transpose_b, lhs_as = i8} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
    %3 = graph.transpose %2 {permutation = array<i64: 1, 0>} : (tensor<5x2xf32>) -> tensor<2x5xf32>
    func.return %1, %3 : tensor<1x5xf32>, tensor<2x5xf32>
  }
}
