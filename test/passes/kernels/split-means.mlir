// RUN: mini-opt %s --split-input-file -p split-means | filecheck %s
// RUN: mini-opt %s --split-input-file -p split-means,form-kernels | filecheck %s --check-prefix=KERNELS

// The means of pictures that a depthwise convolution makes are those of the means of its rows, which become a result of
// its kernel.
// CHECK-LABEL: @main
// CHECK:         %[[Z:.*]] = graph.relu
// CHECK-NEXT:    %[[ROWS:.*]] = graph.reduce_mean %[[Z]] {axes = array<i64: 2>, keepdims} : (tensor<2x8x6x16xf32>) -> tensor<2x8x1x16xf32>
// CHECK-NEXT:    %[[MEANS:.*]] = graph.reduce_mean %[[ROWS]] {axes = array<i64: 1, 2>, keepdims}
// CHECK-NEXT:    graph.mul %[[Z]], %[[MEANS]]
// KERNELS-LABEL: @main
// KERNELS:         %[[Z:.*]], %[[ROWS:.*]] = graph.call @conv_reduce_mean_0
// KERNELS-NEXT:    %[[MEANS:.*]] = graph.call @reduce_mean_0(%[[ROWS]])
// KERNELS-NEXT:    graph.call @mul_0(%[[Z]], %[[MEANS]])
func.func @main(%x: tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32> {
  %w = graph.weight #graph.blob<"", 0, 576, "a"> : tensor<16x1x3x3xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<2x8x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<2x8x6x16xf32>
  %z = graph.relu %y : (tensor<2x8x6x16xf32>) -> tensor<2x8x6x16xf32>
  %m = graph.reduce_mean %z {axes = array<i64: 1, 2>, keepdims} : (tensor<2x8x6x16xf32>) -> tensor<2x1x1x16xf32>
  %p = graph.mul %z, %m : (tensor<2x8x6x16xf32>, tensor<2x1x1x16xf32>) -> tensor<2x8x6x16xf32>
  func.return %p : tensor<2x8x6x16xf32>
}

// -----

// Nobody else reads the pictures: they need not be written by the kernel that means are a result of.
// CHECK-LABEL: @main
// CHECK-NOT:     keepdims
// KERNELS-LABEL: @main
// KERNELS:         graph.call @conv_0
// KERNELS-NEXT:    graph.call @reduce_mean_0
func.func @main(%x: tensor<2x8x6x16xf32>) -> tensor<2x16xf32> {
  %w = graph.weight #graph.blob<"", 0, 576, "a"> : tensor<16x1x3x3xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<2x8x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<2x8x6x16xf32>
  %m = graph.reduce_mean %y {axes = array<i64: 1, 2>} : (tensor<2x8x6x16xf32>) -> tensor<2x16xf32>
  func.return %m : tensor<2x16xf32>
}

// -----

// Products of all channels, and means of something else than whole pictures, have no such code.
// CHECK-LABEL: @main
// CHECK-COUNT-2: graph.reduce_mean
// CHECK-NOT:     graph.reduce_mean
func.func @main(%x: tensor<2x8x6x16xf32>) -> (tensor<2x8x6x16xf32>, tensor<2x1x1x16xf32>, tensor<2x8x6x16xf32>, tensor<2x1x6x16xf32>) {
  %w = graph.weight #graph.blob<"", 0, 9216, "a"> : tensor<16x16x3x3xf32>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<2x8x6x16xf32>, tensor<16x16x3x3xf32>) -> tensor<2x8x6x16xf32>
  %m = graph.reduce_mean %y {axes = array<i64: 1, 2>, keepdims} : (tensor<2x8x6x16xf32>) -> tensor<2x1x1x16xf32>
  %v = graph.weight #graph.blob<"", 0, 576, "b"> : tensor<16x1x3x3xf32>
  %z = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<2x8x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<2x8x6x16xf32>
  %n = graph.reduce_mean %z {axes = array<i64: 1>, keepdims} : (tensor<2x8x6x16xf32>) -> tensor<2x1x6x16xf32>
  func.return %y, %m, %z, %n : tensor<2x8x6x16xf32>, tensor<2x1x1x16xf32>, tensor<2x8x6x16xf32>, tensor<2x1x6x16xf32>
}

// -----

// A GPU would launch two kernels for the means instead of one.
// CHECK-LABEL: @main
// CHECK:         graph.reduce_mean
// CHECK-NOT:     graph.reduce_mean
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @main(%x: tensor<2x8x6x16xf32>) -> (tensor<2x8x6x16xf32>, tensor<2x16xf32>) {
    %w = graph.weight #graph.blob<"", 0, 576, "a"> : tensor<16x1x3x3xf32>
    %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<2x8x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<2x8x6x16xf32>
    %m = graph.reduce_mean %y {axes = array<i64: 1, 2>} : (tensor<2x8x6x16xf32>) -> tensor<2x16xf32>
    func.return %y, %m : tensor<2x8x6x16xf32>, tensor<2x16xf32>
  }
}
