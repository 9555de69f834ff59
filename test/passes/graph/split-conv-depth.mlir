// RUN: mini-opt %s -p split-conv-depth,dce --split-input-file | filecheck %s

// Two taps, one picture of zeros behind the three there are: the second tap reads from picture 1 on, and adds to what the
// first one made. What follows is done to the pictures.
// CHECK-LABEL: @taps
// CHECK-NEXT:    %[[FIRST:.*]] = graph.transpose %x {permutation = array<i64: 2, 0, 1, 3, 4>}
// CHECK-NEXT:    %[[ZERO:.*]] = graph.constant dense<0.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[ZEROS:.*]] = graph.broadcast_to %[[ZERO]] {shape = array<i64: 1, 2, 1, 4, 4>}
// CHECK-NEXT:    %[[ALL:.*]] = graph.concat %[[FIRST]], %[[ZEROS]] {axis = 0 : i64}
// CHECK-NEXT:    %[[S0:.*]] = graph.slice %[[ALL]] {starts = array<i64: 0, 0, 0, 0, 0>, stops = array<i64: 3, 2, 1, 4, 4>
// CHECK-NEXT:    %[[X0:.*]] = graph.reshape %[[S0]] {shape = array<i64: 6, 1, 4, 4>}
// CHECK-NEXT:    %[[W0:.*]] = graph.constant dense<1.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-NEXT:    %[[Y0:.*]] = graph.conv %[[X0]], %[[W0]], %{{.*}} {strides = array<i64: 1, 1>
// CHECK-NEXT:    %[[S1:.*]] = graph.slice %[[ALL]] {starts = array<i64: 1, 0, 0, 0, 0>, stops = array<i64: 4, 2, 1, 4, 4>
// CHECK-NEXT:    %[[X1:.*]] = graph.reshape %[[S1]]
// CHECK-NEXT:    %[[W1:.*]] = graph.constant dense<2.000000e+00> : tensor<1x1x1x1xf32>
// CHECK-NEXT:    %[[Y1:.*]] = graph.conv %[[X1]], %[[W1]] {
// CHECK-NEXT:    %[[SUM:.*]] = graph.add %[[Y1]], %[[Y0]]
// CHECK-NEXT:    %[[RELU:.*]] = graph.relu %[[SUM]]
// CHECK-NEXT:    %[[APART:.*]] = graph.reshape %[[RELU]] {shape = array<i64: 3, 2, 1, 4, 4>}
// CHECK-NEXT:    %[[RESULT:.*]] = graph.transpose %[[APART]] {permutation = array<i64: 1, 2, 0, 3, 4>}
// CHECK-NEXT:    func.return %[[RESULT]]
func.func @taps(%x: tensor<2x1x3x4x4xf32>, %b: tensor<1xf32>) -> tensor<2x1x3x4x4xf32> {
  %w = graph.constant dense<[[[[[1.0]], [[2.0]]]]]> : tensor<1x1x2x1x1xf32>
  %y = graph.conv %x, %w, %b {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 1, 0, 0>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<2x1x3x4x4xf32>, tensor<1x1x2x1x1xf32>, tensor<1xf32>) -> tensor<2x1x3x4x4xf32>
  %z = graph.relu %y : (tensor<2x1x3x4x4xf32>) -> tensor<2x1x3x4x4xf32>
  func.return %z : tensor<2x1x3x4x4xf32>
}

// -----

// Of two taps the first channel is read, and three filters made of it: reading it twice moves less than adding them.
// CHECK-LABEL: @channels
// CHECK:         %[[S0:.*]] = graph.slice %x {starts = array<i64: 0, 0, 0, 0, 0>, stops = array<i64: 1, 1, 3, 4, 4>
// CHECK-NEXT:    %[[S1:.*]] = graph.slice %x {starts = array<i64: 0, 0, 1, 0, 0>, stops = array<i64: 1, 1, 4, 4, 4>
// CHECK-NEXT:    %[[BOTH:.*]] = graph.concat %[[S0]], %[[S1]] {axis = 1 : i64}
// CHECK:         graph.conv %{{.*}} : (tensor<3x2x4x4xf32>, tensor<3x2x1x1xf32>) -> tensor<3x3x4x4xf32>
// CHECK-NOT:     graph.conv
func.func @channels(%x: tensor<1x1x4x4x4xf32>) -> tensor<1x3x3x4x4xf32> {
  %w = graph.constant dense<1.0> : tensor<3x1x2x1x1xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x4x4x4xf32>, tensor<3x1x2x1x1xf32>) -> tensor<1x3x3x4x4xf32>
  func.return %y : tensor<1x3x3x4x4xf32>
}

// -----

// Those of pictures, and weights that aren't known, stay.
// CHECK-LABEL: @stays
// CHECK-NEXT:    graph.conv %x, %w
func.func @stays(%x: tensor<1x1x4x4x4xf32>, %w: tensor<3x1x2x1x1xf32>) -> tensor<1x3x3x4x4xf32> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x4x4x4xf32>, tensor<3x1x2x1x1xf32>) -> tensor<1x3x3x4x4xf32>
  func.return %y : tensor<1x3x3x4x4xf32>
}
