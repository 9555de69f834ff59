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

// -----

// Blocks along the first axis: the matrix is turned, and the product's right operand transposed.
// CHECK-LABEL: @turned
// CHECK-DAG:     %[[W:.*]] = graph.constant dense<[[20, 50], [97, 131]]> : tensor<2x2xui8>
// CHECK-DAG:     %[[S:.*]] = graph.constant dense<[[1.000000e+00, 3.000000e+00], [2.000000e+00, 4.000000e+00]]> : tensor<2x2xf32>
// CHECK:         %[[B:.*]] = graph.block_weight %[[W]], %[[S]] {bits = 4 : i64, block = 2 : i64, depth = 4 : i64, middle = 0 : i64}
// CHECK-NEXT:    graph.matmul %x, %[[B]] {transpose_b}
func.func @turned(%x: tensor<5x4xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[[4, 1], [1, 6]], [[2, 3], [3, 8]]]> : tensor<2x2x2xui4>
  %s = graph.constant dense<[[[1.0, 2.0]], [[3.0, 4.0]]]> : tensor<2x1x2xf32>
  %d = graph.dequantize %w, %s : (tensor<2x2x2xui4>, tensor<2x1x2xf32>) -> tensor<2x2x2xf32>
  %r = graph.reshape %d {shape = array<i64: 4, 2>} : (tensor<2x2x2xf32>) -> tensor<4x2xf32>
  %y = graph.matmul %x, %r : (tensor<5x4xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// -----

// One scale for each column is one block of its whole depth, filled up to whole bytes; the scale stays narrow.
// CHECK-LABEL: @columns
// CHECK-DAG:     graph.constant dense<[[154, 8], [123, 1]]> : tensor<2x2xui8>
// CHECK-DAG:     graph.constant dense<[[1.000000e+00], [2.000000e+00]]> : tensor<2x1xf16>
// CHECK:         graph.block_weight %{{.*}}, %{{.*}} {bits = 4 : i64, block = 4 : i64, depth = 3 : i64, middle = 8 : i64} : (tensor<2x2xui8>, tensor<2x1xf16>) -> tensor<2x3xf32>
func.func @columns(%x: tensor<5x3xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[2, 3], [1, -1], [0, -7]]> : tensor<3x2xi4>
  %s = graph.constant dense<[[1.0, 2.0]]> : tensor<1x2xf16>
  %d = graph.dequantize %w, %s : (tensor<3x2xi4>, tensor<1x2xf16>) -> tensor<3x2xf16>
  %c = graph.cast %d {to = f32} : (tensor<3x2xf16>) -> tensor<3x2xf32>
  %y = graph.matmul %x, %c : (tensor<5x3xf32>, tensor<3x2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// -----

// A zero point that is no integer comes as its product with the scale.
// CHECK-LABEL: @between
// CHECK:         graph.constant dense<[[1.500000e+00], [0.000000e+00]]> : tensor<2x1xf32>
// CHECK:         graph.block_weight %{{.*}}, %{{.*}}, %{{.*}} {bits = 8 : i64, block = 2 : i64, depth = 2 : i64, middle = 0 : i64} : (tensor<2x2xui8>, tensor<2x1xf32>, tensor<2x1xf32>)
func.func @between(%x: tensor<5x2xf32>) -> tensor<5x2xf32> {
  %w = graph.constant dense<[[[1, 2]], [[3, 4]]]> : tensor<2x1x2xui8>
  %s = graph.constant dense<[[[2.0]], [[0.0]]]> : tensor<2x1x1xf32>
  %o = graph.constant dense<[[[3.0]], [[0.0]]]> : tensor<2x1x1xf32>
  %d = graph.dequantize %w, %s : (tensor<2x1x2xui8>, tensor<2x1x1xf32>) -> tensor<2x1x2xf32>
  %m = graph.sub %d, %o : (tensor<2x1x2xf32>, tensor<2x1x1xf32>) -> tensor<2x1x2xf32>
  %r = graph.reshape %m {shape = array<i64: 2, 2>} : (tensor<2x1x2xf32>) -> tensor<2x2xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x2xf32>, tensor<2x2xf32>) -> tensor<5x2xf32>
  func.return %y : tensor<5x2xf32>
}

// -----

// Numbers of three bits become numbers of four; what moves them is done to the constant.
// CHECK-LABEL: @three
// CHECK:         graph.constant dense<[[1, 22]]> : tensor<1x2xui8>
// CHECK:         graph.block_weight %{{.*}}, %{{.*}} {bits = 4 : i64, block = 2 : i64, depth = 4 : i64, middle = 4 : i64}
func.func @three(%x: tensor<5x4xf32>) -> tensor<5x1xf32> {
  %p = graph.constant dense<[113, 0]> : tensor<2xui8>
  %u = graph.unpack_bits %p {to = ui8, shape = array<i64: 1, 4>, width = 3 : i64} : (tensor<2xui8>) -> tensor<1x4xui8>
  %i = graph.constant dense<[0, 3, 1, 2]> : tensor<4xi64>
  %g = graph.gather %u, %i {axis = 1 : i64} : (tensor<1x4xui8>, tensor<4xi64>) -> tensor<1x4xui8>
  %b = graph.reshape %g {shape = array<i64: 1, 2, 2>} : (tensor<1x4xui8>) -> tensor<1x2x2xui8>
  %s = graph.constant dense<[[[2.0], [3.0]]]> : tensor<1x2x1xf32>
  %z = graph.constant dense<4> : tensor<ui8>
  %d = graph.dequantize %b, %s, %z : (tensor<1x2x2xui8>, tensor<1x2x1xf32>, tensor<ui8>) -> tensor<1x2x2xf32>
  %r = graph.reshape %d {shape = array<i64: 1, 4>} : (tensor<1x2x2xf32>) -> tensor<1x4xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x4xf32>, tensor<1x4xf32>) -> tensor<5x1xf32>
  func.return %y : tensor<5x1xf32>
}

// -----

// Scales that vary along a block are no scales of blocks.
// CHECK-LABEL: @along
// CHECK-NOT:     graph.block_weight
func.func @along(%x: tensor<5x2xf32>) -> tensor<5x1xf32> {
  %w = graph.constant dense<[[[1, 2]]]> : tensor<1x1x2xui8>
  %s = graph.constant dense<[[[2.0, 3.0]]]> : tensor<1x1x2xf32>
  %d = graph.dequantize %w, %s : (tensor<1x1x2xui8>, tensor<1x1x2xf32>) -> tensor<1x1x2xf32>
  %r = graph.reshape %d {shape = array<i64: 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  func.return %y : tensor<5x1xf32>
}

// -----

// A matrix that is taken out of a stack by a number that is computed: no other one is read. The zero point is one for
// all, or one of each block.
// CHECK-LABEL: @stacked
// CHECK-DAG:     %[[W:.*]] = graph.weight #graph.blob<"", 0, 512, "w"> : tensor<128x4xui8>
// CHECK-DAG:     %[[S:.*]] = graph.weight #graph.blob<"", 0, 1024, "s"> : tensor<128x2xf32>
// CHECK:         %[[B:.*]] = graph.stacked_block_weight %i, %[[W]], %[[S]] {bits = 4 : i64, block = 4 : i64, depth = 8 : i64, middle = 8 : i64, rows = 64 : i64}
// CHECK:         graph.matmul %x, %[[B]] {transpose_b, lhs_as = i8}
// CHECK:         graph.stacked_block_weight %i, %{{.*}}, %{{.*}}, %{{.*}} {bits = 4 : i64, block = 4 : i64, depth = 8 : i64, middle = 0 : i64, rows = 64 : i64}
func.func @stacked(%x: tensor<5x8xf32>, %i: tensor<i64>) -> (tensor<5x64xf32>, tensor<5x64xf32>) {
  %w = graph.weight #graph.blob<"", 0, 512, "w"> : tensor<2x64x4xui8>
  %s = graph.weight #graph.blob<"", 0, 1024, "s"> : tensor<2x64x2xf32>
  %g = graph.gather %w, %i {axis = 0 : i64} : (tensor<2x64x4xui8>, tensor<i64>) -> tensor<64x4xui8>
  %f = graph.reshape %g {shape = array<i64: 256>} : (tensor<64x4xui8>) -> tensor<256xui8>
  %u = graph.unpack_bits %f {to = ui4, shape = array<i64: 64, 2, 4>} : (tensor<256xui8>) -> tensor<64x2x4xui4>
  %t = graph.gather %s, %i {axis = 0 : i64} : (tensor<2x64x2xf32>, tensor<i64>) -> tensor<64x2xf32>
  %v = graph.reshape %t {shape = array<i64: 64, 2, 1>} : (tensor<64x2xf32>) -> tensor<64x2x1xf32>
  %z = graph.constant dense<8> : tensor<ui4>
  %d = graph.dequantize %u, %v, %z : (tensor<64x2x4xui4>, tensor<64x2x1xf32>, tensor<ui4>) -> tensor<64x2x4xf32>
  %r = graph.reshape %d {shape = array<i64: 64, 8>} : (tensor<64x2x4xf32>) -> tensor<64x8xf32>
  %y = graph.matmul %x, %r {transpose_b, lhs_as = i8} : (tensor<5x8xf32>, tensor<64x8xf32>) -> tensor<5x64xf32>
  %p = graph.constant dense<3> : tensor<2x64x2xui4>
  %o = graph.gather %p, %i {axis = 0 : i64} : (tensor<2x64x2xui4>, tensor<i64>) -> tensor<64x2xui4>
  %q = graph.reshape %o {shape = array<i64: 64, 2, 1>} : (tensor<64x2xui4>) -> tensor<64x2x1xui4>
  %e = graph.dequantize %u, %v, %q : (tensor<64x2x4xui4>, tensor<64x2x1xf32>, tensor<64x2x1xui4>) -> tensor<64x2x4xf32>
  %n = graph.reshape %e {shape = array<i64: 64, 8>} : (tensor<64x2x4xf32>) -> tensor<64x8xf32>
  %k = graph.matmul %x, %n {transpose_b} : (tensor<5x8xf32>, tensor<64x8xf32>) -> tensor<5x64xf32>
  func.return %y, %k : tensor<5x64xf32>, tensor<5x64xf32>
}

// -----

// A matrix of other rows than panels have is dequantised, and taken out of the stack, too.
// CHECK-LABEL: @few_rows
// CHECK-NOT:     graph.stacked_block_weight
func.func @few_rows(%x: tensor<5x8xf32>, %i: tensor<i64>) -> tensor<5x40xf32> {
  %w = graph.weight #graph.blob<"", 0, 640, "w"> : tensor<2x40x8xui8>
  %s = graph.weight #graph.blob<"", 0, 640, "s"> : tensor<2x40x2xf32>
  %g = graph.gather %w, %i {axis = 0 : i64} : (tensor<2x40x8xui8>, tensor<i64>) -> tensor<40x8xui8>
  %u = graph.reshape %g {shape = array<i64: 40, 2, 4>} : (tensor<40x8xui8>) -> tensor<40x2x4xui8>
  %t = graph.gather %s, %i {axis = 0 : i64} : (tensor<2x40x2xf32>, tensor<i64>) -> tensor<40x2xf32>
  %v = graph.reshape %t {shape = array<i64: 40, 2, 1>} : (tensor<40x2xf32>) -> tensor<40x2x1xf32>
  %d = graph.dequantize %u, %v : (tensor<40x2x4xui8>, tensor<40x2x1xf32>) -> tensor<40x2x4xf32>
  %r = graph.reshape %d {shape = array<i64: 40, 8>} : (tensor<40x2x4xf32>) -> tensor<40x8xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x8xf32>, tensor<40x8xf32>) -> tensor<5x40xf32>
  func.return %y : tensor<5x40xf32>
}
