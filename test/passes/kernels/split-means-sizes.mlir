// RUN: mini-opt %s --split-input-file -p split-means | filecheck %s

// Any number of pictures, and of rows: the means of their rows come first.
// CHECK-LABEL: @main
// CHECK:         %[[Y:.*]] = graph.conv
// CHECK-NEXT:    %[[ROWS:.*]] = graph.reduce_mean %[[Y]] {axes = array<i64: 2>, keepdims} : (tensor<(batch)x(height)x6x16xf32>) -> tensor<(batch)x(height)x1x16xf32>
// CHECK-NEXT:    graph.reduce_mean %[[ROWS]] {{.*}} -> tensor<(batch)x1x1x16xf32>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim height = 8 in [4, 64]>} {
  func.func @main(%x: tensor<(batch)x(height)x6x16xf32>, %w: tensor<16x1x3x3xf32>) -> tensor<(batch)x(height)x6x16xf32> {
    %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<(batch)x(height)x6x16xf32>, tensor<16x1x3x3xf32>) -> tensor<(batch)x(height)x6x16xf32>
    %m = graph.reduce_mean %y {axes = array<i64: 1, 2>, keepdims} : (tensor<(batch)x(height)x6x16xf32>) -> tensor<(batch)x1x1x16xf32>
    %p = graph.mul %y, %m : (tensor<(batch)x(height)x6x16xf32>, tensor<(batch)x1x1x16xf32>) -> tensor<(batch)x(height)x6x16xf32>
    func.return %p : tensor<(batch)x(height)x6x16xf32>
  }
}

// -----

// So of rows of any width.
// CHECK-LABEL: @main
// CHECK:         %[[Y:.*]] = graph.conv
// CHECK-NEXT:    %[[ROWS:.*]] = graph.reduce_mean %[[Y]] {axes = array<i64: 2>, keepdims} : (tensor<(batch)x(height)x(width)x16xf32>) -> tensor<(batch)x(height)x1x16xf32>
// CHECK-NEXT:    graph.reduce_mean %[[ROWS]] {{.*}} -> tensor<(batch)x1x1x16xf32>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim height = 8 in [4, 64], dim width = 6 in [4, 64]>} {
  func.func @main(%x: tensor<(batch)x(height)x(width)x16xf32>, %w: tensor<16x1x3x3xf32>) -> tensor<(batch)x(height)x(width)x16xf32> {
    %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<(batch)x(height)x(width)x16xf32>, tensor<16x1x3x3xf32>) -> tensor<(batch)x(height)x(width)x16xf32>
    %m = graph.reduce_mean %y {axes = array<i64: 1, 2>, keepdims} : (tensor<(batch)x(height)x(width)x16xf32>) -> tensor<(batch)x1x1x16xf32>
    %p = graph.mul %y, %m : (tensor<(batch)x(height)x(width)x16xf32>, tensor<(batch)x1x1x16xf32>) -> tensor<(batch)x(height)x(width)x16xf32>
    func.return %p : tensor<(batch)x(height)x(width)x16xf32>
  }
}

// -----

// A row may be one pixel: then there are no means of rows.
// CHECK-LABEL: @main
// CHECK:         %[[Y:.*]] = graph.conv
// CHECK-NEXT:    graph.reduce_mean %[[Y]] {axes = array<i64: 1, 2>, keepdims}
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim height = 8 in [4, 64], dim width = 6 in [1, 64]>} {
  func.func @main(%x: tensor<(batch)x(height)x(width)x16xf32>, %w: tensor<16x1x3x3xf32>) -> tensor<(batch)x(height)x(width)x16xf32> {
    %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64, layout = "NHWC"} : (tensor<(batch)x(height)x(width)x16xf32>, tensor<16x1x3x3xf32>) -> tensor<(batch)x(height)x(width)x16xf32>
    %m = graph.reduce_mean %y {axes = array<i64: 1, 2>, keepdims} : (tensor<(batch)x(height)x(width)x16xf32>) -> tensor<(batch)x1x1x16xf32>
    %p = graph.mul %y, %m : (tensor<(batch)x(height)x(width)x16xf32>, tensor<(batch)x1x1x16xf32>) -> tensor<(batch)x(height)x(width)x16xf32>
    func.return %p : tensor<(batch)x(height)x(width)x16xf32>
  }
}
