// RUN: mini-opt %s -p split-quantized-transpose,dce --split-input-file | filecheck %s

// A dequantised weight stays quantised, in parts of it with the scales of their filters.
// CHECK-LABEL: @quantized
// CHECK:         %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1]], {{\[\[}}5]]], {{\[\[\[}}3]], {{\[\[}}7]]], {{\[\[\[}}2]], {{\[\[}}6]]], {{\[\[\[}}4]], {{\[\[}}8]]]]> : tensor<4x2x1x1xi8>
// CHECK:         %[[S:.*]] = graph.constant dense<{{\[\[\[\[}}5.000000e-01]]], {{\[\[\[}}2.500000e-01]]], {{\[\[\[}}5.000000e-01]]], {{\[\[\[}}2.500000e-01]]]]> : tensor<4x1x1x1xf32>
// CHECK:         %[[A:.*]] = graph.dequantize %[[W]], %[[S]]
// CHECK:         %[[N:.*]] = graph.constant dense<[10, 20, 10, 20]> : tensor<4xi32>
// CHECK:         %[[B:.*]] = graph.dequantize %[[N]], %{{.*}} : (tensor<4xi32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK:         graph.conv %x, %[[A]], %[[B]]
func.func @quantized(%x: tensor<1x2x3x4xf32>) -> tensor<1x2x3x8xf32> {
  %q = graph.constant dense<[[[[1, 2]], [[3, 4]]], [[[5, 6]], [[7, 8]]]]> : tensor<2x2x1x2xi8>
  %s = graph.constant dense<[[[[0.5]], [[0.25]]]]> : tensor<1x2x1x1xf32>
  %w = graph.dequantize %q, %s : (tensor<2x2x1x2xi8>, tensor<1x2x1x1xf32>) -> tensor<2x2x1x2xf32>
  %n = graph.constant dense<[10, 20]> : tensor<2xi32>
  %t = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
  %b = graph.dequantize %n, %t : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
  %y = graph.conv_transpose %x, %w, %b {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x2x3x4xf32>, tensor<2x2x1x2xf32>, tensor<2xf32>) -> tensor<1x2x3x8xf32>
  func.return %y : tensor<1x2x3x8xf32>
}

// -----

// A scale for each of the channels that are summed up is none of filters: it stays.
// CHECK-LABEL: @scaled_channels
// CHECK:         graph.conv_transpose
func.func @scaled_channels(%x: tensor<1x2x3x4xf32>) -> tensor<1x1x3x8xf32> {
  %q = graph.constant dense<[[[[1, 2]]], [[[5, 6]]]]> : tensor<2x1x1x2xi8>
  %s = graph.constant dense<[[[[0.5]]], [[[0.25]]]]> : tensor<2x1x1x1xf32>
  %w = graph.dequantize %q, %s : (tensor<2x1x1x2xi8>, tensor<2x1x1x1xf32>) -> tensor<2x1x1x2xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x2x3x4xf32>, tensor<2x1x1x2xf32>) -> tensor<1x1x3x8xf32>
  func.return %y : tensor<1x1x3x8xf32>
}

// -----

// Constant weights are split-conv-transpose's, once batch norms are folded into them.
// CHECK-LABEL: @constant
// CHECK:         graph.conv_transpose
func.func @constant(%x: tensor<1x1x3x4xf32>) -> tensor<1x1x3x8xf32> {
  %w = graph.constant dense<1.0> : tensor<1x1x1x2xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x1x3x4xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x3x8xf32>
  func.return %y : tensor<1x1x3x8xf32>
}
