// RUN: mini-opt %s -t check | filecheck %s

// What is packed is a constant, so the op is gone before code is made: its meaning shows in the weight itself and
// in contractions that read it.

func.func @main(
    %x: tensor<1x3xf32> {graph.name = "x", graph.value = dense<[[1.0, 0.0, -1.0]]> : tensor<1x3xf32>},
    %im: tensor<1x2x2x2xf32> {graph.name = "im", graph.value =
      dense<[[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]]> : tensor<1x2x2x2xf32>})
    -> (tensor<3x3xf32> {graph.name = "matrix", graph.expect =
      dense<[[1.0, 2.0, 7.0], [3.0, 4.0, 8.0], [5.0, 6.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3x3xf32> {graph.name = "transposed", graph.expect =
      dense<[[1.0, 3.0, 5.0], [2.0, 4.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<1x3xf32> {graph.name = "product", graph.expect =
      dense<[[-4.0, -4.0, -2.0]]> : tensor<1x3xf32>},
        tensor<2x2x2x2xf32> {graph.name = "filters", graph.expect =
      dense<[[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]], [[[9.0, 10.0],
             [11.0, 12.0]], [[13.0, 14.0], [15.0, 16.0]]]]> : tensor<2x2x2x2xf32>},
        tensor<2x1x1x1xf32> {graph.name = "groups", graph.expect =
      dense<[[[[5.0]]], [[[6.0]]]]> : tensor<2x1x1x1xf32>},
        tensor<3x1x1x2xf32> {graph.name = "depthwise", graph.expect =
      dense<[[[[1.0, 4.0]]], [[[2.0, 5.0]]], [[[3.0, 6.0]]]]> : tensor<3x1x1x2xf32>},
        tensor<1x2x1x1xf32> {graph.name = "convolved", graph.expect =
      dense<[[[[204.0]], [[492.0]]]]> : tensor<1x2x1x1xf32>}) {
  %panels = graph.constant dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [[7.0, 0.0],
                                  [8.0, 0.0], [9.0, 0.0]]]> : tensor<2x3x2xf32>
  %conv_panels = graph.constant dense<[[[[1.0], [5.0], [2.0], [6.0], [3.0], [7.0], [4.0],
                                       [8.0]], [[9.0], [13.0], [10.0], [14.0], [11.0],
                                       [15.0], [12.0], [16.0]]]]> : tensor<1x2x8x1xf32>
  %grouped = graph.constant dense<[[[[5.0, 0.0]]], [[[6.0, 0.0]]]]> : tensor<2x1x1x2xf32>
  %channels = graph.constant dense<[[[1.0, 2.0], [4.0, 5.0]], [[3.0, 0.0], [6.0, 0.0]]]> : tensor<2x2x2xf32>

  // Three rows of three columns in panels of two: the second panel is filled up with zeros.
  // CHECK: matrix: reference, unfused, fused agree
  %matrix = graph.unpack %panels {packing = #kernel.packing<"panels", {nr = 2}>, shape = array<i64: 3, 3>}
    : (tensor<2x3x2xf32>) -> tensor<3x3xf32>

  // The same, turned: each column of the panels is a row.
  // CHECK: transposed: reference, unfused, fused agree
  %transposed = graph.unpack %panels {packing = #kernel.packing<"panels", {nr = 2, transposed = 1}>, shape = array<i64: 3, 3>}
    : (tensor<2x3x2xf32>) -> tensor<3x3xf32>

  // As the right side of a matrix product.
  // CHECK: product: reference, unfused, fused agree
  %product = graph.matmul %x, %matrix : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>

  // A 2x2 window of two channels, two filters in panels of one; inside a panel rows come first, then columns, then
  // channels.
  // CHECK: filters: reference, unfused, fused agree
  %filters = graph.unpack %conv_panels {packing = #kernel.packing<"conv_panels", {nr = 1}>, shape = array<i64: 2, 2, 2, 2>}
    : (tensor<1x2x8x1xf32>) -> tensor<2x2x2x2xf32>

  // Two groups of one filter each, in panels of two.
  // CHECK: groups: reference, unfused, fused agree
  %groups = graph.unpack %grouped {packing = #kernel.packing<"conv_panels", {nr = 2, groups = 2}>, shape = array<i64: 2, 1, 1, 1>}
    : (tensor<2x1x1x2xf32>) -> tensor<2x1x1x1xf32>

  // Three channels of two taps in panels of two.
  // CHECK: depthwise: reference, unfused, fused agree
  %depthwise = graph.unpack %channels {packing = #kernel.packing<"depthwise", {nr = 2}>, shape = array<i64: 3, 1, 1, 2>}
    : (tensor<2x2x2xf32>) -> tensor<3x1x1x2xf32>

  // As a convolution's weight.
  // CHECK: convolved: reference, unfused, fused agree
  %convolved = graph.conv %im, %filters
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x2x2xf32>, tensor<2x2x2x2xf32>) -> tensor<1x2x1x1xf32>

  func.return %matrix, %transposed, %product, %filters, %groups, %depthwise, %convolved
    : tensor<3x3xf32>, tensor<3x3xf32>, tensor<1x3xf32>, tensor<2x2x2x2xf32>, tensor<2x1x1x1xf32>,
      tensor<3x1x1x2xf32>, tensor<1x2x1x1xf32>
}
