// RUN: mini-opt %s -p canonicalize-graph --split-input-file | filecheck %s

// The constant moves to the right, and what it adds is nothing. The location of what stays is its own.
// CHECK-LABEL: @zero
// CHECK-NEXT:    %[[R:.*]] = graph.relu %x : tensor<2x3xf32> loc("kept")
// CHECK-NEXT:    func.return %[[R]]
func.func @zero(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = graph.constant dense<-0.0> : tensor<f32>
  %0 = graph.add %c, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32> loc("gone")
  %1 = graph.relu %0 : tensor<2x3xf32> loc("kept")
  func.return %1 : tensor<2x3xf32>
}

// -----

// Where x is -0, x + 0 is 0: that adds something.
// CHECK-LABEL: @sign_of_zero
// CHECK:         graph.add %x, %
func.func @sign_of_zero(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %c = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.add %c, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %0 : tensor<2x3xf32>
}

// -----

// A transpose of the last two dims is a flag of the product.
// CHECK-LABEL: @transposed
// CHECK-NEXT:    graph.matmul %x, %y {transpose_b}
func.func @transposed(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) -> tensor<2x4xf32> {
  %0 = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = graph.matmul %x, %0 : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  func.return %1 : tensor<2x4xf32>
}

// -----

// Rows that were flattened for a product are flattened no more.
// CHECK-LABEL: @rows
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %x, %w : (tensor<1x4x3xf32>, tensor<3x3xf32>) -> tensor<1x4x3xf32>
// CHECK-NEXT:    graph.add %[[P]], %x
func.func @rows(%x: tensor<1x4x3xf32>, %w: tensor<3x3xf32>) -> tensor<1x4x3xf32> {
  %0 = graph.reshape %x {shape = array<i64: 4, 3>} : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
  %1 = graph.matmul %0, %w : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1, 4, 3>} : (tensor<4x3xf32>) -> tensor<1x4x3xf32>
  %3 = graph.add %2, %x : tensor<1x4x3xf32>
  func.return %3 : tensor<1x4x3xf32>
}

// -----

// Of a causal convolution that pads both sides, what looks ahead is cut off again: only what is left is computed.
// CHECK-LABEL: @chomp
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 4, 0>
// CHECK-NEXT:    func.return %[[Y]]
func.func @chomp(%x: tensor<1x2x8xf32>, %w: tensor<2x2x3xf32>) -> tensor<1x2x8xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 4, 4>, dilations = array<i64: 2>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x8xf32>, tensor<2x2x3xf32>) -> tensor<1x2x12xf32>
  %1 = graph.slice %0 {starts = array<i64: 0, 0, 0>, stops = array<i64: 1, 2, 8>, steps = array<i64: 1, 1, 1>} : (tensor<1x2x12xf32>) -> tensor<1x2x8xf32>
  func.return %1 : tensor<1x2x8xf32>
}

// -----

// A slice that stays within one operand of a concat doesn't need the other.
// CHECK-LABEL: @parts
// CHECK-NEXT:    graph.slice %y {starts = array<i64: 1>, stops = array<i64: 3>, steps = array<i64: 1>}
// CHECK-NEXT:    func.return
func.func @parts(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<2xf32> {
  %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %1 = graph.slice %0 {starts = array<i64: 5>, stops = array<i64: 7>, steps = array<i64: 1>} : (tensor<8xf32>) -> tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// A factor per channel is part of the weight: 2 * [1, 2] and 3 * [3, 4].
// CHECK-LABEL: @scaled
// CHECK:         %[[W:.*]] = graph.constant dense<{{\[\[\[}}2.000000e+00], [4.000000e+00]], {{\[\[}}9.000000e+00], [1.200000e+01]]]>
// CHECK:         graph.conv %x, %[[W]]
// CHECK-NEXT:    func.return
func.func @scaled(%x: tensor<1x2x5xf32>) -> tensor<1x2x5xf32> {
  %w = graph.constant dense<[[[1.0], [2.0]], [[3.0], [4.0]]]> : tensor<2x2x1xf32>
  %c = graph.constant dense<[[2.0], [3.0]]> : tensor<2x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x5xf32>, tensor<2x2x1xf32>) -> tensor<1x2x5xf32>
  %1 = graph.mul %0, %c : (tensor<1x2x5xf32>, tensor<2x1xf32>) -> tensor<1x2x5xf32>
  func.return %1 : tensor<1x2x5xf32>
}

// -----

// An operand is not made smaller than the scales that it is quantised by.
// CHECK-LABEL: @quantised_by_columns
// CHECK:         %[[WIDE:.*]] = graph.broadcast_to %x
// CHECK-NEXT:    graph.quantize %[[WIDE]]
func.func @quantised_by_columns(%x: tensor<1x3xf32>, %s: tensor<3x1xf32>) -> tensor<2x3x3xui8> {
  %0 = graph.broadcast_to %x {shape = array<i64: 2, 3, 3>} : (tensor<1x3xf32>) -> tensor<2x3x3xf32>
  %1 = graph.quantize %0, %s {to = ui8} : (tensor<2x3x3xf32>, tensor<3x1xf32>) -> tensor<2x3x3xui8>
  func.return %1 : tensor<2x3x3xui8>
}

// -----

// Of a product's other operand only the dims of size 1 before its matrix go, with the rows' own.
// CHECK-LABEL: @rows_by_unit_batch
// CHECK-NEXT:    %[[Z:.*]] = graph.reshape %z {shape = array<i64: 4, 5>} : (tensor<1x4x5xf32>) -> tensor<4x5xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %x, %[[Z]] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
// CHECK-NEXT:    func.return %[[P]]
func.func @rows_by_unit_batch(%x: tensor<3x4xf32>, %z: tensor<1x4x5xf32>) -> tensor<3x5xf32> {
  %0 = graph.reshape %x {shape = array<i64: 1, 3, 4>} : (tensor<3x4xf32>) -> tensor<1x3x4xf32>
  %1 = graph.matmul %0, %z : (tensor<1x3x4xf32>, tensor<1x4x5xf32>) -> tensor<1x3x5xf32>
  %2 = graph.reshape %1 {shape = array<i64: 3, 5>} : (tensor<1x3x5xf32>) -> tensor<3x5xf32>
  func.return %2 : tensor<3x5xf32>
}

// -----

// The left operand is one row here, which has no dim of the result to itself: nothing is hoisted.
// CHECK-LABEL: @row_of_lower_rank
// CHECK:         graph.matmul %x, %{{.*}} : (tensor<1x1x4xf32>, tensor<1x1x4x5xf32>) -> tensor<1x1x1x5xf32>
// CHECK-NEXT:    graph.reshape
func.func @row_of_lower_rank(%x: tensor<1x1x4xf32>, %z: tensor<4x5xf32>) -> tensor<1x5xf32> {
  %0 = graph.reshape %z {shape = array<i64: 1, 1, 4, 5>} : (tensor<4x5xf32>) -> tensor<1x1x4x5xf32>
  %1 = graph.matmul %x, %0 : (tensor<1x1x4xf32>, tensor<1x1x4x5xf32>) -> tensor<1x1x1x5xf32>
  %2 = graph.reshape %1 {shape = array<i64: 1, 5>} : (tensor<1x1x1x5xf32>) -> tensor<1x5xf32>
  func.return %2 : tensor<1x5xf32>
}

// -----

// The permission to round the left operand stays with products that are written anew.
// CHECK-LABEL: @may_be_rounded
// CHECK-DAG:     graph.matmul %x, %y {transpose_b, lhs_as = i8}
// CHECK-DAG:     graph.matmul %z, %{{.*}} {lhs_as = i8} : (tensor<2x5x3xf32>, tensor<3x4xf32>) -> tensor<2x5x4xf32>
func.func @may_be_rounded(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>, %z: tensor<2x5x3xf32>) -> (tensor<2x4xf32>, tensor<2x5x4xf32>) {
  %0 = graph.transpose %y {permutation = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = graph.matmul %x, %0 {lhs_as = i8} : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %w = graph.weight #graph.blob<"", 0, 48, "a"> : tensor<1x3x4xf32>
  %2 = graph.matmul %z, %w {lhs_as = i8} : (tensor<2x5x3xf32>, tensor<1x3x4xf32>) -> tensor<2x5x4xf32>
  func.return %1, %2 : tensor<2x4xf32>, tensor<2x5x4xf32>
}

// -----

// Of a quantised table only the rows that are gathered are unpacked and dequantised.
// CHECK-LABEL: @table
// CHECK-DAG:     graph.gather %{{.*}}, %i {axis = 0 : i64} : (tensor<64x16xui8>, tensor<3xi64>) -> tensor<3x16xui8>
// CHECK-DAG:     graph.unpack_bits %{{.*}} {to = ui4, shape = array<i64: 3, 2, 16>} : (tensor<48xui8>) -> tensor<3x2x16xui4>
// CHECK-DAG:     %[[S:.*]] = graph.gather %s, %i {axis = 0 : i64} : (tensor<64x2x1xf32>, tensor<3xi64>) -> tensor<3x2x1xf32>
// CHECK:         graph.dequantize %{{.*}}, %[[S]], %z : (tensor<3x2x16xui4>, tensor<3x2x1xf32>, tensor<1x1xui4>)
// CHECK:         graph.reshape %{{.*}} {shape = array<i64: 3, 32>}
// CHECK-LABEL: @more_rows_than_there_are
// CHECK:         %[[D:.*]] = graph.dequantize %w
// CHECK-NEXT:    graph.gather %[[D]], %i
func.func @table(%w: tensor<1024xui8>, %s: tensor<64x2x1xf32>, %z: tensor<1x1xui4>, %i: tensor<3xi64>) -> tensor<3x32xf32> {
  %u = graph.unpack_bits %w {to = ui4, shape = array<i64: 64, 2, 16>} : (tensor<1024xui8>) -> tensor<64x2x16xui4>
  %d = graph.dequantize %u, %s, %z : (tensor<64x2x16xui4>, tensor<64x2x1xf32>, tensor<1x1xui4>) -> tensor<64x2x16xf32>
  %r = graph.reshape %d {shape = array<i64: 64, 32>} : (tensor<64x2x16xf32>) -> tensor<64x32xf32>
  %g = graph.gather %r, %i {axis = 0 : i64} : (tensor<64x32xf32>, tensor<3xi64>) -> tensor<3x32xf32>
  func.return %g : tensor<3x32xf32>
}
func.func @more_rows_than_there_are(%w: tensor<2x8xi8>, %s: tensor<1x8xf32>, %i: tensor<3xi64>) -> tensor<3x8xf32> {
  %d = graph.dequantize %w, %s : (tensor<2x8xi8>, tensor<1x8xf32>) -> tensor<2x8xf32>
  %g = graph.gather %d, %i {axis = 0 : i64} : (tensor<2x8xf32>, tensor<3xi64>) -> tensor<3x8xf32>
  func.return %g : tensor<3x8xf32>
}

// -----

// A column of pixels under a window [3, 1] is a row of pixels under [1, 3], in either layout; wider pictures stay.
// CHECK-LABEL: @column
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %x {{.*}} -> tensor<1x2x1x9xf32>
// CHECK-NEXT:    %[[W:.*]] = graph.reshape %w {{.*}} -> tensor<4x2x1x3xf32>
// CHECK-NEXT:    %[[C:.*]] = graph.conv %[[R]], %[[W]], %b {strides = array<i64: 1, 2>, pads = array<i64: 0, 1, 0, 2>, dilations = array<i64: 1, 3>
// CHECK-SAME:    -> tensor<1x4x1x3xf32>
// CHECK-NEXT:    graph.reshape %[[C]] {{.*}} -> tensor<1x4x3x1xf32>
// CHECK-LABEL: @channels_last
// CHECK:         graph.conv {{.*}} -> tensor<1x1x7x4xf32>
// CHECK-LABEL: @wider
// CHECK-NEXT:    graph.conv %x, %w
func.func @column(%x: tensor<1x2x9x1xf32>, %w: tensor<4x2x3x1xf32>, %b: tensor<4xf32>) -> tensor<1x4x3x1xf32> {
  %0 = graph.conv %x, %w, %b {strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 2, 0>, dilations = array<i64: 3, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x9x1xf32>, tensor<4x2x3x1xf32>, tensor<4xf32>) -> tensor<1x4x3x1xf32>
  func.return %0 : tensor<1x4x3x1xf32>
}
func.func @channels_last(%x: tensor<1x9x1x2xf32>, %w: tensor<4x2x3x1xf32>) -> tensor<1x7x1x4xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x9x1x2xf32>, tensor<4x2x3x1xf32>) -> tensor<1x7x1x4xf32>
  func.return %0 : tensor<1x7x1x4xf32>
}
func.func @wider(%x: tensor<1x2x9x2xf32>, %w: tensor<4x2x3x1xf32>) -> tensor<1x4x7x2xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x9x2xf32>, tensor<4x2x3x1xf32>) -> tensor<1x4x7x2xf32>
  func.return %0 : tensor<1x4x7x2xf32>
}

// -----

// Heads that were merged with the batch and split again after a transpose are split before it.
// CHECK-LABEL: @heads
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %x {shape = array<i64: 7, 2, 3, 4>} : (tensor<7x2x12xf32>) -> tensor<7x2x3x4xf32>
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[R]] {permutation = array<i64: 1, 2, 0, 3>}
// CHECK-NEXT:    func.return %[[T]]
// A reshape that merges what was transposed stays.
// CHECK-LABEL: @merged
// CHECK-NEXT:    graph.reshape
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.reshape
func.func @heads(%x: tensor<7x2x12xf32>) -> tensor<2x3x7x4xf32> {
  %0 = graph.reshape %x {shape = array<i64: 7, 6, 4>} : (tensor<7x2x12xf32>) -> tensor<7x6x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<7x6x4xf32>) -> tensor<6x7x4xf32>
  %2 = graph.reshape %1 {shape = array<i64: 2, 3, 7, 4>} : (tensor<6x7x4xf32>) -> tensor<2x3x7x4xf32>
  func.return %2 : tensor<2x3x7x4xf32>
}
func.func @merged(%x: tensor<7x2x12xf32>) -> tensor<2x3x28xf32> {
  %0 = graph.reshape %x {shape = array<i64: 7, 6, 4>} : (tensor<7x2x12xf32>) -> tensor<7x6x4xf32>
  %1 = graph.transpose %0 {permutation = array<i64: 1, 0, 2>} : (tensor<7x6x4xf32>) -> tensor<6x7x4xf32>
  %2 = graph.reshape %1 {shape = array<i64: 2, 3, 28>} : (tensor<6x7x4xf32>) -> tensor<2x3x28xf32>
  func.return %2 : tensor<2x3x28xf32>
}

// -----

// Transposes of rows before and after a product with a matrix meet before it. Columns don't move through it.
// CHECK-LABEL: @rows
// CHECK-NEXT:    graph.matmul %x, %w : (tensor<2x7x4xf32>, tensor<4x5xf32>) -> tensor<2x7x5xf32>
// CHECK-LABEL: @columns
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.matmul
// CHECK-NEXT:    graph.transpose
func.func @rows(%x: tensor<2x7x4xf32>, %w: tensor<4x5xf32>) -> tensor<2x7x5xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x4xf32>) -> tensor<7x2x4xf32>
  %1 = graph.matmul %0, %w : (tensor<7x2x4xf32>, tensor<4x5xf32>) -> tensor<7x2x5xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 1, 0, 2>} : (tensor<7x2x5xf32>) -> tensor<2x7x5xf32>
  func.return %2 : tensor<2x7x5xf32>
}
func.func @columns(%x: tensor<2x7x4xf32>, %w: tensor<4x5xf32>) -> tensor<5x2x7xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x7x4xf32>) -> tensor<7x2x4xf32>
  %1 = graph.matmul %0, %w : (tensor<7x2x4xf32>, tensor<4x5xf32>) -> tensor<7x2x5xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 2, 1, 0>} : (tensor<7x2x5xf32>) -> tensor<5x2x7xf32>
  func.return %2 : tensor<5x2x7xf32>
}
