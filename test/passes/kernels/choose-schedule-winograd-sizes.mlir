// RUN: mini-opt %s -p choose-schedule | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 24 in [1, 64], dim height = 42 in [14, 100], dim width = 51 in [14, 100], dim few = 2 in [1, 4]>} {
  func.func @main() {
    func.return
  }

  // Four tiles to a picture: blocks of as many as pay, for the code divides any number of tiles nearly equally.
  // CHECK: graph.kernel @small(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 56,
  // CHECK-SAME: pieces = 2>
  graph.kernel @small(%x: tensor<(batch)x7x7x512xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<(batch)x7x7x512xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<(batch)x7x7x512xf32>
    graph.yield %c : tensor<(batch)x7x7x512xf32>
  }

  // Two registers' rows of tiles where the filters fit the second-level cache.
  // CHECK: graph.kernel @few_channels(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 28,
  // CHECK-SAME: pieces = 4>
  graph.kernel @few_channels(%x: tensor<(batch)x7x7x64xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<(batch)x7x7x64xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x7x7x64xf32>, tensor<64x64x3x3xf32>) -> tensor<(batch)x7x7x64xf32>
    graph.yield %c : tensor<(batch)x7x7x64xf32>
  }

  // So of rows and columns of run time.
  // CHECK: graph.kernel @any_pixels(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 56,
  // CHECK-SAME: pieces = 3>
  graph.kernel @any_pixels(%x: tensor<1x(height)x(width)x512xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<1x(height)x(width)x512xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x(height)x(width)x512xf32>, tensor<512x512x3x3xf32>) -> tensor<1x(height)x(width)x512xf32>
    graph.yield %c : tensor<1x(height)x(width)x512xf32>
  }

  // No larger than all pictures together.
  // CHECK: graph.kernel @few_tiles(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 16,
  graph.kernel @few_tiles(%x: tensor<(few)x7x7x512xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<(few)x7x7x512xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(few)x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<(few)x7x7x512xf32>
    graph.yield %c : tensor<(few)x7x7x512xf32>
  }
}
