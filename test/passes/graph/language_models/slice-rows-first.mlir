// RUN: mini-opt %s -p slice-rows-first --split-input-file | filecheck %s

// The last row goes through the product, the norm, the sum and the product before them; weights stay whole.
// CHECK-LABEL: @last_row
// CHECK-DAG:     %[[A:.*]] = graph.slice %x {starts = array<i64: 0, 63, 0>, stops = array<i64: 1, 64, 32>
// CHECK-DAG:     %[[B:.*]] = graph.slice %r {starts = array<i64: 0, 63, 0>
// CHECK-DAG:     %[[O:.*]] = graph.matmul %[[A]], %v : (tensor<1x1x32xf32>, tensor<32x32xf32>)
// CHECK:         %[[S:.*]] = graph.add %[[O]], %[[B]] : tensor<1x1x32xf32>
// CHECK-NEXT:    %[[N:.*]] = graph.rms_norm %[[S]], %g
// CHECK-NEXT:    %[[Y:.*]] = graph.matmul %[[N]], %w : (tensor<1x1x32xf32>, tensor<32x100xf32>)
// CHECK-NEXT:    func.return %[[Y]]
func.func @last_row(%x: tensor<1x64x32xf32>, %r: tensor<1x64x32xf32>, %g: tensor<32xf32>, %v: tensor<32x32xf32>, %w: tensor<32x100xf32>) -> tensor<1x1x100xf32> {
  %o = graph.matmul %x, %v : (tensor<1x64x32xf32>, tensor<32x32xf32>) -> tensor<1x64x32xf32>
  %s = graph.add %o, %r : tensor<1x64x32xf32>
  %n = graph.rms_norm %s, %g {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<1x64x32xf32>, tensor<32xf32>) -> tensor<1x64x32xf32>
  %y = graph.matmul %n, %w : (tensor<1x64x32xf32>, tensor<32x100xf32>) -> tensor<1x64x100xf32>
  %l = graph.slice %y {starts = array<i64: 0, 63, 0>, stops = array<i64: 1, 64, 100>, steps = array<i64: 1, 1, 1>} : (tensor<1x64x100xf32>) -> tensor<1x1x100xf32>
  func.return %l : tensor<1x1x100xf32>
}

// -----

// Of attention the queries are sliced, and the mask; keys and values are needed whole. Two slices that are alike are one.
// CHECK-LABEL: @attention
// CHECK-DAG:     %[[Q:.*]] = graph.slice %q {starts = array<i64: 0, 0, 7, 0>
// CHECK-DAG:     %[[M:.*]] = graph.slice %m {starts = array<i64: 0, 0, 7, 0>
// CHECK:         %[[A:.*]] = graph.attention %[[Q]], %k, %k, %[[M]]
// CHECK:         graph.neg
// CHECK:         graph.exp
// CHECK-NOT:     graph.slice
func.func @attention(%q: tensor<1x1x8x16xf32>, %k: tensor<1x1x8x16xf32>, %m: tensor<1x1x8x8xi1>) -> (tensor<1x1x16xf32>, tensor<1x1x16xf32>) {
  %a = graph.attention %q, %k, %k, %m {scale = 1.0 : f64} : (tensor<1x1x8x16xf32>, tensor<1x1x8x16xf32>, tensor<1x1x8x16xf32>, tensor<1x1x8x8xi1>) -> tensor<1x1x8x16xf32>
  %r = graph.reshape %a {shape = array<i64: 1, 8, 16>} : (tensor<1x1x8x16xf32>) -> tensor<1x8x16xf32>
  %n = graph.neg %r : tensor<1x8x16xf32>
  %e = graph.exp %r : tensor<1x8x16xf32>
  %0 = graph.slice %n {starts = array<i64: 0, 7, 0>, stops = array<i64: 1, 8, 16>, steps = array<i64: 1, 1, 1>} : (tensor<1x8x16xf32>) -> tensor<1x1x16xf32>
  %1 = graph.slice %e {starts = array<i64: 0, 7, 0>, stops = array<i64: 1, 8, 16>, steps = array<i64: 1, 1, 1>} : (tensor<1x8x16xf32>) -> tensor<1x1x16xf32>
  func.return %0, %1 : tensor<1x1x16xf32>, tensor<1x1x16xf32>
}

// -----

// Other rows are read, too; the axis is not that of rows; there is no product; rows hang on each other: all stay.
// CHECK-LABEL: @stays
// CHECK:         graph.matmul %x, %w
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.matmul %x, %w
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.exp
// CHECK-NEXT:    graph.slice
// CHECK-NEXT:    graph.attention %{{.*}} {causal
// CHECK-NEXT:    graph.slice
func.func @stays(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %q: tensor<1x1x8x16xf32>) -> (tensor<4x6xf32>, tensor<1x6xf32>, tensor<4x3xf32>, tensor<1x8xf32>, tensor<1x1x1x16xf32>) {
  %y = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %0 = graph.slice %y {starts = array<i64: 3, 0>, stops = array<i64: 4, 6>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<1x6xf32>
  %z = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
  %1 = graph.slice %z {starts = array<i64: 0, 3>, stops = array<i64: 4, 6>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  %e = graph.exp %x : tensor<4x8xf32>
  %2 = graph.slice %e {starts = array<i64: 3, 0>, stops = array<i64: 4, 8>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %a = graph.attention %q, %q, %q {causal, scale = 1.0 : f64} : tensor<1x1x8x16xf32>
  %3 = graph.slice %a {starts = array<i64: 0, 0, 7, 0>, stops = array<i64: 1, 1, 8, 16>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x1x8x16xf32>) -> tensor<1x1x1x16xf32>
  func.return %y, %0, %1, %2, %3 : tensor<4x6xf32>, tensor<1x6xf32>, tensor<4x3xf32>, tensor<1x8xf32>, tensor<1x1x1x16xf32>
}
