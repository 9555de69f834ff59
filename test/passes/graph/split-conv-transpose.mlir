// RUN: mini-opt %s -p split-conv-transpose,dce --split-input-file | filecheck %s

// Copies of the kernel that don't overlap: both taps are filters of one product, side by side in memory where they go.
// CHECK-LABEL: @blocks
// CHECK-NEXT:    %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1.000000e+00{{\]\], \[\[}}3.000000e+00{{\]\]\], \[\[\[}}2.000000e+00{{\]\], \[\[}}4.000000e+00]]]]>
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<7.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.conv %x, %[[W]], %[[B]]
// CHECK-NEXT:    %[[SPLIT:.*]] = graph.reshape %[[P]] {shape = array<i64: 1, 2, 1, 3, 4>}
// CHECK-NEXT:    %[[LAST:.*]] = graph.transpose %[[SPLIT]] {permutation = array<i64: 0, 2, 3, 4, 1>}
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %[[LAST]] {shape = array<i64: 1, 1, 3, 8>}
// CHECK-NEXT:    func.return %[[Y]]
func.func @blocks(%x: tensor<1x2x3x4xf32>) -> tensor<1x1x3x8xf32> {
  %w = graph.constant dense<[[[[1.0, 2.0]]], [[[3.0, 4.0]]]]> : tensor<2x1x1x2xf32>
  %b = graph.constant dense<7.0> : tensor<1xf32>
  %y = graph.conv_transpose %x, %w, %b {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x2x3x4xf32>, tensor<2x1x1x2xf32>, tensor<1xf32>) -> tensor<1x1x3x8xf32>
  func.return %y : tensor<1x1x3x8xf32>
}

// -----

// With a stride of one it is a convolution with the taps the other way round.
// CHECK-LABEL: @overlap
// CHECK-NEXT:    %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}2.000000e+00, 1.000000e+00]]]]>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %x, %[[W]] {{.*}}pads = array<i64: 0, 1, 0, 1>
// CHECK-NEXT:    func.return %[[Y]]
func.func @overlap(%x: tensor<1x1x3x4xf32>) -> tensor<1x1x3x5xf32> {
  %w = graph.constant dense<[[[[1.0, 2.0]]]]> : tensor<1x1x1x2xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x1x3x4xf32>, tensor<1x1x1x2xf32>) -> tensor<1x1x3x5xf32>
  func.return %y : tensor<1x1x3x5xf32>
}

// -----

// Three taps a stride of two apart: even elements take the middle one, odd ones the two others, of neighbours. What
// follows is done on each part. The last of eight elements is not there.
// CHECK-LABEL: @phases
// CHECK:         %[[C0:.*]] = graph.conv %x, %{{.*}} {{.*}}pads = array<i64: 0, 0>{{.*}} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>
// CHECK-NEXT:    %[[R0:.*]] = graph.relu %[[C0]]
// CHECK:         %[[C1:.*]] = graph.conv %x, %{{.*}} {{.*}}pads = array<i64: 0, 1>{{.*}} : (tensor<1x1x4xf32>, tensor<1x1x2xf32>
// CHECK-NEXT:    %[[R1:.*]] = graph.relu %[[C1]]
// CHECK-NEXT:    %[[P0:.*]] = graph.reshape %[[R0]] {shape = array<i64: 1, 1, 4, 1>}
// CHECK-NEXT:    %[[P1:.*]] = graph.reshape %[[R1]] {shape = array<i64: 1, 1, 4, 1>}
// CHECK-NEXT:    %[[BOTH:.*]] = graph.concat %[[P0]], %[[P1]] {axis = 3 : i64}
// CHECK-NEXT:    %[[ALL:.*]] = graph.reshape %[[BOTH]] {shape = array<i64: 1, 1, 8>}
// CHECK-NEXT:    %[[Y:.*]] = graph.slice %[[ALL]] {starts = array<i64: 0, 0, 0>, stops = array<i64: 1, 1, 7>
// CHECK-NEXT:    func.return %[[Y]]
func.func @phases(%x: tensor<1x1x4xf32>) -> tensor<1x1x7xf32> {
  %w = graph.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, groups = 1 : i64, output_padding = array<i64: 0>, layout = "NCHW"} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x7xf32>
  %z = graph.relu %y : (tensor<1x1x7xf32>) -> tensor<1x1x7xf32>
  func.return %z : tensor<1x1x7xf32>
}

// -----

// One tap for every second element: the others have none, and it stays.
// CHECK-LABEL: @gaps
// CHECK:         graph.conv_transpose
func.func @gaps(%x: tensor<1x1x4xf32>) -> tensor<1x1x7xf32> {
  %w = graph.constant dense<1.0> : tensor<1x1x1xf32>
  %y = graph.conv_transpose %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, output_padding = array<i64: 0>, layout = "NCHW"} : (tensor<1x1x4xf32>, tensor<1x1x1xf32>) -> tensor<1x1x7xf32>
  func.return %y : tensor<1x1x7xf32>
}

// -----

// So does a weight that isn't known.
// CHECK-LABEL: @unknown
// CHECK:         graph.conv_transpose
func.func @unknown(%x: tensor<1x2x3x4xf32>, %w: tensor<2x1x1x2xf32>) -> tensor<1x1x3x8xf32> {
  %y = graph.conv_transpose %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x2x3x4xf32>, tensor<2x1x1x2xf32>) -> tensor<1x1x3x8xf32>
  func.return %y : tensor<1x1x3x8xf32>
}
