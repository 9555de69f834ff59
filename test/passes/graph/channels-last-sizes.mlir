// RUN: mini-opt %s -p channels-last | filecheck %s

// Sizes move with their dims, in types and in attributes: pictures of any height, of widths that are multiples of 8.
// CHECK-LABEL: @main
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %x {{.*}} -> tensor<(batch)x(height)x("width / 8" * 8)x3xf32>
// CHECK-NEXT:    %[[C:.*]] = graph.conv %[[T]], %w {{.*}}layout = "NHWC"{{.*}} -> tensor<(batch)x((height + 1) floordiv 2)x("width / 8" * 4)x4xf32>
// CHECK-NEXT:    %[[S:.*]] = graph.slice %[[C]] {{.*}}stops = array<i64: (batch), ((height + 1) floordiv 2), ("width / 8" * 4), 2>
// CHECK-NEXT:    graph.transpose %[[S]] {{.*}} -> tensor<(batch)x2x((height + 1) floordiv 2)x("width / 8" * 4)xf32>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim height = 32 in [8, 64], dim width = 32 in [8, 64] by 8>} {
  func.func @main(%x: tensor<(batch)x3x(height)x("width / 8" * 8)xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<(batch)x2x((height + 1) floordiv 2)x("width / 8" * 4)xf32> {
    %0 = graph.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<(batch)x3x(height)x("width / 8" * 8)xf32>, tensor<4x3x3x3xf32>) -> tensor<(batch)x4x((height + 1) floordiv 2)x("width / 8" * 4)xf32>
    %1 = graph.slice %0 {starts = array<i64: 0, 0, 0, 0>, stops = array<i64: (batch), 2, ((height + 1) floordiv 2), ("width / 8" * 4)>, steps = array<i64: 1, 1, 1, 1>} : (tensor<(batch)x4x((height + 1) floordiv 2)x("width / 8" * 4)xf32>) -> tensor<(batch)x2x((height + 1) floordiv 2)x("width / 8" * 4)xf32>
    func.return %1 : tensor<(batch)x2x((height + 1) floordiv 2)x("width / 8" * 4)xf32>
  }
}
