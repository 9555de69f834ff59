// RUN: mini-opt %s -p split-conv-transpose,dce --split-input-file | filecheck %s

// One filter of 1 x 2 taps over two channels: the weight's rows become those of the product, taps side by side.
// CHECK-LABEL: @blocks
// CHECK-NEXT:    %[[ROWS:.*]] = graph.reshape %x {shape = array<i64: 12, 2>}
// CHECK-NEXT:    %[[W:.*]] = graph.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]>
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %[[ROWS]], %[[W]]
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<7.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.add %[[P]], %[[B]]
// CHECK-NEXT:    %[[SPLIT:.*]] = graph.reshape %[[S]] {shape = array<i64: 1, 3, 4, 1, 2, 1>}
// CHECK-NEXT:    %[[MOVED:.*]] = graph.transpose %[[SPLIT]] {permutation = array<i64: 0, 1, 3, 2, 4, 5>}
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %[[MOVED]] {shape = array<i64: 1, 3, 8, 1>}
// CHECK-NEXT:    func.return %[[Y]]
func.func @blocks(%x: tensor<1x3x4x2xf32>) -> tensor<1x3x8x1xf32> {
  %w = graph.constant dense<[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]> : tensor<2x1x1x2xf32>
  %b = graph.constant dense<7.0> : tensor<1xf32>
  %y = graph.conv_transpose %x, %w, %b {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"} : (tensor<1x3x4x2xf32>, tensor<2x1x1x2xf32>, tensor<1xf32>) -> tensor<1x3x8x1xf32>
  func.return %y : tensor<1x3x8x1xf32>
}

// -----

// Taps that overlap stay.
// CHECK-LABEL: @overlap
// CHECK:         graph.conv_transpose
func.func @overlap(%x: tensor<1x3x4x2xf32>) -> tensor<1x3x5x1xf32> {
  %w = graph.constant dense<1.0> : tensor<2x1x1x2xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"} : (tensor<1x3x4x2xf32>, tensor<2x1x1x2xf32>) -> tensor<1x3x5x1xf32>
  func.return %y : tensor<1x3x5x1xf32>
}

// -----

// So does a weight that isn't known.
// CHECK-LABEL: @unknown
// CHECK:         graph.conv_transpose
func.func @unknown(%x: tensor<1x3x4x2xf32>, %w: tensor<2x1x1x2xf32>) -> tensor<1x3x8x1xf32> {
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"} : (tensor<1x3x4x2xf32>, tensor<2x1x1x2xf32>) -> tensor<1x3x8x1xf32>
  func.return %y : tensor<1x3x8x1xf32>
}
