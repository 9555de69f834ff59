// RUN: mini-opt %s -p channels-last --split-input-file | filecheck %s

// One transpose in, one out; the constant per channel lies along the last dim.
// CHECK-LABEL: @region
// CHECK:         %[[T:.*]] = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>}
// CHECK-NEXT:    %[[C:.*]] = graph.conv %[[T]], %w {{.*}}layout = "NHWC"
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<{{.*}}> : tensor<2xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.prelu %[[C]], %[[B]]
// CHECK-NEXT:    %[[M:.*]] = graph.max_pool %[[P]] {{.*}}layout = "NHWC"
// CHECK-NEXT:    %[[J:.*]] = graph.concat %[[M]], %[[M]] {axis = 3 : i64}
// CHECK-NEXT:    %[[O:.*]] = graph.transpose %[[J]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT:    func.return %[[O]]
func.func @region(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<1x4x2x2xf32> {
  %slope = graph.constant dense<[[[0.5]], [[0.25]]]> : tensor<2x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.prelu %0, %slope : (tensor<1x2x4x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4x4xf32>
  %2 = graph.max_pool %1 {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %3 = graph.concat %2, %2 {axis = 1 : i64} : (tensor<1x2x2x2xf32>, tensor<1x2x2x2xf32>) -> tensor<1x4x2x2xf32>
  func.return %3 : tensor<1x4x2x2xf32>
}

// -----

// A channel shuffle is one transpose of the last two dims.
// CHECK-LABEL: @shuffle
// CHECK:         graph.conv
// CHECK-NEXT:    %[[S:.*]] = graph.reshape %{{.*}} {shape = array<i64: 1, 2, 2, 2, 3>}
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[S]] {permutation = array<i64: 0, 1, 2, 4, 3>}
// CHECK-NEXT:    %[[M:.*]] = graph.reshape %[[T]] {shape = array<i64: 1, 2, 2, 6>}
// CHECK-NEXT:    graph.conv %[[M]]
func.func @shuffle(%x: tensor<1x6x2x2xf32>, %w: tensor<6x6x1x1xf32>) -> tensor<1x6x2x2xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x6x2x2xf32>, tensor<6x6x1x1xf32>) -> tensor<1x6x2x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 2, 3, 2, 2>} : (tensor<1x6x2x2xf32>) -> tensor<1x2x3x2x2xf32>
  %2 = graph.transpose %1 {permutation = array<i64: 0, 2, 1, 3, 4>} : (tensor<1x2x3x2x2xf32>) -> tensor<1x3x2x2x2xf32>
  %3 = graph.reshape %2 {shape = array<i64: 1, 6, 2, 2>} : (tensor<1x3x2x2x2xf32>) -> tensor<1x6x2x2xf32>
  %4 = graph.conv %3, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x6x2x2xf32>, tensor<6x6x1x1xf32>) -> tensor<1x6x2x2xf32>
  func.return %4 : tensor<1x6x2x2xf32>
}

// -----

// Without a convolution nothing moves.
// CHECK-LABEL: @none
// CHECK-NEXT:    graph.max_pool {{.*}}layout = "NCHW"
// CHECK-NEXT:    func.return
func.func @none(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32> {
  %0 = graph.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  func.return %0 : tensor<1x2x2x2xf32>
}

// -----

// What adds dims in front of a picture is given the picture as it was.
// CHECK-LABEL: @more_dims
// CHECK:         %[[C:.*]] = graph.conv {{.*}}layout = "NHWC"
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[C]] {permutation = array<i64: 0, 3, 1, 2>}
// CHECK-NEXT:    graph.broadcast_to %[[T]] {shape = array<i64: 2, 1, 2, 4, 4>}
func.func @more_dims(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<2x1x2x4x4xf32> {
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32>
  %1 = graph.broadcast_to %0 {shape = array<i64: 2, 1, 2, 4, 4>} : (tensor<1x2x4x4xf32>) -> tensor<2x1x2x4x4xf32>
  func.return %1 : tensor<2x1x2x4x4xf32>
}

// -----

// A product of flattened rows may be rounded as before.
// CHECK-LABEL: @may_be_rounded
// CHECK:         graph.matmul %{{.*}}, %{{.*}} {lhs_as = i8} : (tensor<1x16xf32>, tensor<16x2xf32>) -> tensor<1x2xf32>
func.func @may_be_rounded(%x: tensor<1x3x4x4xf32>) -> tensor<1x2xf32> {
  %k = graph.constant dense<0.5> : tensor<4x3x3x3xf32>
  %0 = graph.conv %x, %k {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1, layout = "NCHW"} : (tensor<1x3x4x4xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x2x2xf32>
  %1 = graph.reshape %0 {shape = array<i64: 1, 16>} : (tensor<1x4x2x2xf32>) -> tensor<1x16xf32>
  %w = graph.constant dense<0.25> : tensor<16x2xf32>
  %2 = graph.matmul %1, %w {lhs_as = i8} : (tensor<1x16xf32>, tensor<16x2xf32>) -> tensor<1x2xf32>
  func.return %2 : tensor<1x2xf32>
}

// -----

// A narrow picture is turned for a convolution on a CPU, with its window and its weight; what follows stays turned, and the
// way back turns it again.
// CHECK-LABEL: @narrow
// CHECK:         %[[T:.*]] = graph.transpose %x {permutation = array<i64: 0, 3, 2, 1>} : (tensor<1x2x9x3xf32>) -> tensor<1x3x9x2xf32>
// CHECK-NEXT:    %[[W:.*]] = graph.reshape %w {{.*}} : (tensor<4x2x3x1xf32>) -> tensor<4x2x1x3xf32>
// CHECK-NEXT:    %[[C:.*]] = graph.conv %[[T]], %[[W]] {strides = array<i64: 2, 1>, pads = array<i64: 0, 1, 1, 2>, dilations = array<i64: 1, 2>, {{.*}} -> tensor<1x2x8x4xf32>
// CHECK-NEXT:    %[[P:.*]] = graph.max_pool %[[C]] {kernel = array<i64: 1, 2>, strides = array<i64: 1, 2>, pads = array<i64: 0, 0, 0, 0>
// CHECK-NEXT:    graph.transpose %[[P]] {permutation = array<i64: 0, 3, 2, 1>}
// As many columns as rows are not.
// CHECK-LABEL: @square
// CHECK:         graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>}
builtin.module attributes {kernel.target = #kernel.cpu<"generic">} {
  func.func @narrow(%x: tensor<1x2x9x3xf32>, %w: tensor<4x2x3x1xf32>) -> tensor<1x4x4x2xf32> {
    %0 = graph.conv %x, %w {strides = array<i64: 1, 2>, pads = array<i64: 1, 0, 2, 1>, dilations = array<i64: 2, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x9x3xf32>, tensor<4x2x3x1xf32>) -> tensor<1x4x8x2xf32>
    %1 = graph.max_pool %0 {kernel = array<i64: 2, 1>, strides = array<i64: 2, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x4x8x2xf32>) -> tensor<1x4x4x2xf32>
    func.return %1 : tensor<1x4x4x2xf32>
  }
  func.func @square(%x: tensor<1x2x4x4xf32>, %w: tensor<4x2x3x3xf32>) -> tensor<1x4x2x2xf32> {
    %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x4x4xf32>, tensor<4x2x3x3xf32>) -> tensor<1x4x2x2xf32>
    func.return %0 : tensor<1x4x2x2xf32>
  }
}

// -----

// The order of axes is told of what is computed channels last, and not of what is read as the graph says.
// CHECK: graph.orders = {{\[\["c", array<i64: 0, 2, 3, 1>\], \["r", array<i64: 0, 2, 3, 1>\]\]}}
module attributes {graph.model = #graph.model_nodes<
  ["conv", "Conv", ["x"], [["c", [1, 2, 4, 4], 128, "", ""]]],
  ["relu", "Relu", ["c"], [["r", [1, 2, 4, 4], 128, "", ""]]],
  ["flat", "Reshape", ["r"], [["y", [32], 128, "", ""]]]>} {
  func.func @main(%x: tensor<1x3x4x4xf32>, %w: tensor<2x3x1x1xf32>) -> tensor<32xf32> {
    %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x4xf32>, tensor<2x3x1x1xf32>) -> tensor<1x2x4x4xf32> loc("conv")
    %1 = graph.relu %0 : tensor<1x2x4x4xf32> loc("relu")
    %2 = graph.reshape %1 {shape = array<i64: 32>} : (tensor<1x2x4x4xf32>) -> tensor<32xf32> loc("flat")
    func.return %2 : tensor<32xf32>
  }
}
