// RUN: mini-opt %s -p choose-schedule | filecheck %s

// Where results are reproducible, the size of a picture decides how it is transformed, not the number of pictures.
builtin.module attributes {kernel.target = #kernel.cpu<"generic" reproducible has ["fma"], vector_bits = 512, registers = 32, l2 = 1048576, threads = 1>} {
  func.func @main() {
    func.return
  }

  // CHECK: graph.kernel @small(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 2,
  graph.kernel @small(%x: tensor<1x7x7x512xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<1x7x7x512xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<1x7x7x512xf32>
    graph.yield %c : tensor<1x7x7x512xf32>
  }

  // CHECK: graph.kernel @many_small(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 2,
  graph.kernel @many_small(%x: tensor<64x7x7x512xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<64x7x7x512xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<64x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<64x7x7x512xf32>
    graph.yield %c : tensor<64x7x7x512xf32>
  }

  // CHECK: graph.kernel @medium(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4,
  graph.kernel @medium(%x: tensor<1x14x14x64xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<1x14x14x64xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x14x14x64xf32>, tensor<64x64x3x3xf32>) -> tensor<1x14x14x64xf32>
    graph.yield %c : tensor<1x14x14x64xf32>
  }

  // CHECK: graph.kernel @many_medium(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4,
  graph.kernel @many_medium(%x: tensor<64x14x14x64xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<64x14x14x64xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<64x14x14x64xf32>, tensor<64x64x3x3xf32>) -> tensor<64x14x14x64xf32>
    graph.yield %c : tensor<64x14x14x64xf32>
  }

  // CHECK: graph.kernel @few_channels(
  // CHECK-SAME: schedule = #kernel.schedule<"panels
  graph.kernel @few_channels(%x: tensor<1x14x14x8xf32>, %w: tensor<64x8x3x3xf32>) -> tensor<1x14x14x64xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x14x14x8xf32>, tensor<64x8x3x3xf32>) -> tensor<1x14x14x64xf32>
    graph.yield %c : tensor<1x14x14x64xf32>
  }
}
