// RUN: mini-opt %s -p pad-conv | filecheck %s

// The pads of a wide filter become an op, of which the columns are eleven more than there are samples.
// CHECK-LABEL: @wide
// CHECK-NEXT:    %[[P:.*]] = graph.pad %x {low = array<i64: 0, 3, 0>, high = array<i64: 0, 8, 0>{{.*}} -> tensor<(batch)x(samples + 11)x2xf32>
// CHECK-NEXT:    graph.conv %[[P]], %w {{.*}}pads = array<i64: 0, 0>{{.*}} -> tensor<(batch)x(samples - 5)x3xf32>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim samples = 64 in [16, 512]>} {
  func.func @wide(%x: tensor<(batch)x(samples)x2xf32>, %w: tensor<3x2x17xf32>) -> tensor<(batch)x(samples - 5)x3xf32> {
    %y = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 3, 8>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x(samples)x2xf32>, tensor<3x2x17xf32>) -> tensor<(batch)x(samples - 5)x3xf32>
    func.return %y : tensor<(batch)x(samples - 5)x3xf32>
  }
}
