// RUN: mini-opt %s -p flatten-pointwise --split-input-file | filecheck %s

// Channels by pixels are a matrix as they lie; of every second pixel there is a slice first. The ops behind follow.
// CHECK-LABEL: @strided
// CHECK-NEXT:    %[[W:.*]] = graph.weight
// CHECK-NEXT:    %[[B:.*]] = graph.constant
// CHECK-NEXT:    %[[X:.*]] = graph.slice %x {{.*}}steps = array<i64: 1, 1, 2, 3>{{.*}} -> tensor<2x64x20x20xf32>
// CHECK-NEXT:    %[[F:.*]] = graph.reshape %[[X]] {{.*}} -> tensor<2x64x400xf32>
// CHECK-NEXT:    %[[M:.*]] = graph.reshape %[[W]] {{.*}} -> tensor<4x64xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %[[M]], %[[F]] {{.*}} -> tensor<2x4x400xf32>
// CHECK-NEXT:    %[[C:.*]] = graph.reshape %[[B]] {{.*}} -> tensor<4x1xf32>
// CHECK-NEXT:    %[[A:.*]] = graph.add %[[P]], %[[C]]
// CHECK-NEXT:    %[[R:.*]] = graph.relu %[[A]]
// CHECK-NEXT:    %[[Y:.*]] = graph.reshape %[[R]] {{.*}} -> tensor<2x4x20x20xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @strided(%x: tensor<2x64x40x60xf32>) -> tensor<2x4x20x20xf32> {
  %w = graph.weight #graph.blob<"", 0, 1024, "a"> : tensor<4x64x1x1xf32>
  %b = graph.constant dense<1.0> : tensor<4xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<2x64x40x60xf32>) -> tensor<2x40x60x64xf32>
  %1 = graph.conv %0, %w, %b {layout = "NHWC", strides = array<i64: 2, 3>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x40x60x64xf32>, tensor<4x64x1x1xf32>, tensor<4xf32>) -> tensor<2x20x20x4xf32>
  %2 = graph.relu %1 : (tensor<2x20x20x4xf32>) -> tensor<2x20x20x4xf32>
  %3 = graph.transpose %2 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<2x20x20x4xf32>) -> tensor<2x4x20x20xf32>
  func.return %3 : tensor<2x4x20x20xf32>
}

// -----

// 9 pixels would be 16 columns: that takes longer than the transposes of few channels.
// CHECK-LABEL: @few_pixels
// CHECK-NEXT:    graph.weight
// CHECK-NEXT:    graph.transpose
// CHECK-NEXT:    graph.conv
// CHECK-NEXT:    graph.transpose
func.func @few_pixels(%x: tensor<1x2048x3x3xf32>) -> tensor<1x2048x3x3xf32> {
  %w = graph.weight #graph.blob<"", 0, 16777216, "a"> : tensor<2048x2048x1x1xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x2048x3x3xf32>) -> tensor<1x3x3x2048xf32>
  %1 = graph.conv %0, %w {layout = "NHWC", strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x3x3x2048xf32>, tensor<2048x2048x1x1xf32>) -> tensor<1x3x3x2048xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x3x3x2048xf32>) -> tensor<1x2048x3x3xf32>
  func.return %2 : tensor<1x2048x3x3xf32>
}

// -----

// Somebody else reads channels-last pixels.
// CHECK-LABEL: @read_twice
// CHECK:         graph.conv
func.func @read_twice(%x: tensor<1x4x16x16xf32>) -> (tensor<1x4x16x16xf32>, tensor<1x16x16x4xf32>) {
  %w = graph.weight #graph.blob<"", 0, 64, "a"> : tensor<4x4x1x1xf32>
  %0 = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x4x16x16xf32>) -> tensor<1x16x16x4xf32>
  %1 = graph.conv %0, %w {layout = "NHWC", strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x16x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x16x16x4xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 3, 1, 2>} : (tensor<1x16x16x4xf32>) -> tensor<1x4x16x16xf32>
  func.return %2, %1 : tensor<1x4x16x16xf32>, tensor<1x16x16x4xf32>
}
