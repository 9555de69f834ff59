// RUN: mini-opt %s -p widen-products --split-input-file | filecheck %s

// The weight stays a weight of 16 bits, for the kernel to widen; the bias is small.
// CHECK-LABEL: @convolution
// CHECK:         %[[X:.*]] = graph.cast %x {to = f32}
// CHECK-NEXT:    %[[W:.*]] = graph.cast %w {to = f32}
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %[[X]], %[[W]], %[[B]]
// CHECK-NEXT:    %[[R:.*]] = graph.cast %[[Y]] {to = f16}
// CHECK-NEXT:    func.return %[[R]]
func.func @convolution(%x: tensor<1x4x5x2xf16>, %w: tensor<2x2x1x1xf16>) -> tensor<1x4x5x2xf16> {
  %b = graph.constant dense<2.0> : tensor<2xf16>
  %y = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x2xf16>, tensor<2x2x1x1xf16>, tensor<2xf16>) -> tensor<1x4x5x2xf16>
  func.return %y : tensor<1x4x5x2xf16>
}

// -----

// CHECK-LABEL: @product
// CHECK:         graph.matmul %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
func.func @product(%x: tensor<3x2xbf16>, %w: tensor<2x4xbf16>) -> tensor<3x4xbf16> {
  %y = graph.matmul %x, %w : (tensor<3x2xbf16>, tensor<2x4xbf16>) -> tensor<3x4xbf16>
  func.return %y : tensor<3x4xbf16>
}

// -----

// There is no faster code for channels first.
// CHECK-LABEL: @channels_first
// CHECK-NEXT:    graph.conv %x, %w {{.*}} : (tensor<1x2x4x5xf16>
func.func @channels_first(%x: tensor<1x2x4x5xf16>, %w: tensor<2x2x1x1xf16>) -> tensor<1x2x4x5xf16> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x4x5xf16>, tensor<2x2x1x1xf16>) -> tensor<1x2x4x5xf16>
  func.return %y : tensor<1x2x4x5xf16>
}

// -----

// Halves of a product are rounded apart, for what joins them.
// CHECK-LABEL: @halves
// CHECK:         %[[P:.*]] = graph.matmul %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %[[A:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 0>
// CHECK-NEXT:    %[[X:.*]] = graph.cast %[[A]] {to = f16}
// CHECK-NEXT:    %[[B:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 2>
// CHECK-NEXT:    %[[Y:.*]] = graph.cast %[[B]] {to = f16}
// CHECK-NEXT:    graph.mul %[[X]], %[[Y]]
func.func @halves(%x: tensor<3x2xf16>, %w: tensor<2x4xf16>) -> tensor<3x2xf16> {
  %p = graph.matmul %x, %w : (tensor<3x2xf16>, tensor<2x4xf16>) -> tensor<3x4xf16>
  %a = graph.slice %p {starts = array<i64: 0, 0>, stops = array<i64: 3, 2>, steps = array<i64: 1, 1>} : (tensor<3x4xf16>) -> tensor<3x2xf16>
  %b = graph.slice %p {starts = array<i64: 0, 2>, stops = array<i64: 3, 4>, steps = array<i64: 1, 1>} : (tensor<3x4xf16>) -> tensor<3x2xf16>
  %y = graph.mul %a, %b : tensor<3x2xf16>
  func.return %y : tensor<3x2xf16>
}
