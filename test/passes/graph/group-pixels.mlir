// RUN: mini-opt %s -p group-pixels,dce --split-input-file | filecheck %s

// One filter of two taps, four lanes, three pixels: all of them are made at once, each by a filter with the two taps in
// its own place. What follows is done to them there.
// CHECK-LABEL: @row
// CHECK-NEXT:    %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1.000000e+00, 2.000000e+00, 0.000000e+00, 0.000000e+00]]], {{\[\[\[}}0.000000e+00, 1.000000e+00, 2.000000e+00, 0.000000e+00]]], {{\[\[\[}}0.000000e+00, 0.000000e+00, 1.000000e+00, 2.000000e+00]]]]>
// CHECK-NEXT:    %[[C:.*]] = graph.conv %x, %[[W]] {strides = array<i64: 1, 3>, pads = array<i64: 0, 0, 0, 2>
// CHECK-NEXT:    %[[T:.*]] = graph.tanh %[[C]]
// CHECK-NEXT:    %[[S:.*]] = graph.reshape %[[T]] {shape = array<i64: 1, 3, 1, 5, 1>}
// CHECK-NEXT:    %[[L:.*]] = graph.transpose %[[S]] {permutation = array<i64: 0, 2, 3, 4, 1>}
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %[[L]] {shape = array<i64: 1, 1, 5, 3>}
// CHECK-NEXT:    func.return %[[Y]]
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 524288, threads = 1, gflops = 32, gbytes = 15>} {
  func.func @row(%x: tensor<1x1x5x4xf32>) -> tensor<1x1x5x3xf32> {
    %w = graph.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
    %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x5x4xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x5x3xf32>
    %z = graph.tanh %y : (tensor<1x1x5x3xf32>) -> tensor<1x1x5x3xf32>
    func.return %z : tensor<1x1x5x3xf32>
  }
}

// -----

// Seven pixels in two groups of four: the one that is too many is cut off.
// CHECK-LABEL: @cut
// CHECK:         graph.conv %x, %{{.*}} {strides = array<i64: 1, 4>
// CHECK:         graph.slice %{{.*}} {starts = array<i64: 0, 0, 0, 0>, stops = array<i64: 1, 1, 5, 7>
func.func @cut(%x: tensor<1x1x5x8xf32>) -> tensor<1x1x5x7xf32> {
  %w = graph.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x5x8xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x5x7xf32>
  func.return %y : tensor<1x1x5x7xf32>
}

// -----

// A filter of one column shares nothing with its neighbours', and three filters are nearly all lanes.
// CHECK-LABEL: @alone
// CHECK:         graph.conv %x, %{{.*}} {strides = array<i64: 1, 1>
// CHECK:         graph.conv %x, %{{.*}} {strides = array<i64: 1, 1>
func.func @alone(%x: tensor<1x1x5x8xf32>) -> (tensor<1x1x5x8xf32>, tensor<1x3x5x7xf32>) {
  %w = graph.constant dense<1.0> : tensor<1x1x1x1xf32>
  %v = graph.constant dense<1.0> : tensor<3x1x1x2xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x5x8xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x5x8xf32>
  %z = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x5x8xf32>, tensor<3x1x1x2xf32>) -> tensor<1x3x5x7xf32>
  func.return %y, %z : tensor<1x1x5x8xf32>, tensor<1x3x5x7xf32>
}
