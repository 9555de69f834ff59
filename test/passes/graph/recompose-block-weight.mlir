// RUN: mini-opt %s -p recompose-block-weight --split-input-file | filecheck %s

// Bytes stay as they are, a row of them for each row of the matrix; every block has a zero point.
// CHECK-LABEL: @halves
// CHECK-DAG:     %[[W:.*]] = graph.constant dense<[[18, 52], [86, 120]]> : tensor<2x2xui8>
// CHECK-DAG:     %[[S:.*]] = graph.constant dense<{{.*}}> : tensor<2x2xf32>
// CHECK-DAG:     %[[Z:.*]] = graph.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xui8>
// CHECK:         %[[B:.*]] = graph.block_weight %[[W]], %[[S]], %[[Z]] {bits = 4 : i64, block = 2 : i64, depth = 3 : i64, middle = 0 : i64}
// CHECK-NEXT:    %[[Y:.*]] = graph.matmul %x, %[[B]] {transpose_b}
// CHECK-NEXT:    func.return %[[Y]]
func.func @halves(%x: tensor<5x3xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[18, 52, 86, 120]> : tensor<4xui8>
  %u = graph.unpack_bits %w {to = ui4, shape = array<i64: 2, 2, 2>} : (tensor<4xui8>) -> tensor<2x2x2xui4>
  %s = graph.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %p = graph.constant dense<[33, 67]> : tensor<2xui8>
  %z = graph.unpack_bits %p {to = ui4, shape = array<i64: 2, 2, 1>} : (tensor<2xui8>) -> tensor<2x2x1xui4>
  %d = graph.dequantize %u, %s, %z : (tensor<2x2x2xui4>, tensor<2x2x1xf32>, tensor<2x2x1xui4>) -> tensor<2x2x2xf32>
  %r = graph.reshape %d {shape = array<i64: 2, 4>} : (tensor<2x2x2xf32>) -> tensor<2x4xf32>
  %c = graph.slice %r {starts = array<i64: 0, 0>, stops = array<i64: 2, 3>, steps = array<i64: 1, 1>} : (tensor<2x4xf32>) -> tensor<2x3xf32>
  %y = graph.matmul %x, %c {transpose_b} : (tensor<5x3xf32>, tensor<2x3xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// -----

// Signed numbers become unsigned ones, around 128.
// CHECK-LABEL: @signed
// CHECK:         graph.constant dense<[[129, 127]]> : tensor<1x2xui8>
// CHECK:         graph.block_weight %{{.*}}, %{{.*}} {bits = 8 : i64, block = 2 : i64, depth = 2 : i64, middle = 128 : i64}
func.func @signed(%x: tensor<5x2xf32>) -> tensor<5x1xf32> {
  %w = graph.constant dense<[[[1, -1]]]> : tensor<1x1x2xi8>
  %s = graph.constant dense<[[[2.0]]]> : tensor<1x1x1xf32>
  %d = graph.dequantize %w, %s : (tensor<1x1x2xi8>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  %r = graph.reshape %d {shape = array<i64: 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  func.return %y : tensor<5x1xf32>
}

// -----

// A weight that nobody knows stays.
// CHECK-LABEL: @unknown
// CHECK:         graph.dequantize
// CHECK-NOT:     graph.block_weight
func.func @unknown(%x: tensor<5x2xf32>, %w: tensor<1x1x2xui8>) -> tensor<5x1xf32> {
  %s = graph.constant dense<[[[2.0]]]> : tensor<1x1x1xf32>
  %d = graph.dequantize %w, %s : (tensor<1x1x2xui8>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  %r = graph.reshape %d {shape = array<i64: 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  func.return %y : tensor<5x1xf32>
}
