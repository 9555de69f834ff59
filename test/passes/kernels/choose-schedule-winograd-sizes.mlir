// RUN: mini-opt %s -p choose-schedule | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 24 in [1, 64]>} {
  func.func @main() {
    func.return
  }

  // Four tiles to a picture: of 24 pictures 12 are a block, of 14 that there could be.
  // CHECK: graph.kernel @small(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 48,
  // CHECK-SAME: pieces = 2>
  graph.kernel @small(%x: tensor<(batch)x7x7x512xf32>, %w: tensor<512x512x3x3xf32>) -> tensor<(batch)x7x7x512xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x7x7x512xf32>, tensor<512x512x3x3xf32>) -> tensor<(batch)x7x7x512xf32>
    graph.yield %c : tensor<(batch)x7x7x512xf32>
  }

  // Two registers' rows of tiles where the filters fit the second-level cache.
  // CHECK: graph.kernel @few_channels(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 24,
  // CHECK-SAME: pieces = 4>
  graph.kernel @few_channels(%x: tensor<(batch)x7x7x64xf32>, %w: tensor<64x64x3x3xf32>) -> tensor<(batch)x7x7x64xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x7x7x64xf32>, tensor<64x64x3x3xf32>) -> tensor<(batch)x7x7x64xf32>
    graph.yield %c : tensor<(batch)x7x7x64xf32>
  }

  // 16 tiles to a picture, three of which are 48.
  // CHECK: graph.kernel @medium(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 48,
  // CHECK-SAME: pieces = 8>
  graph.kernel @medium(%x: tensor<(batch)x14x14x256xf32>, %w: tensor<256x256x3x3xf32>) -> tensor<(batch)x14x14x256xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x14x14x256xf32>, tensor<256x256x3x3xf32>) -> tensor<(batch)x14x14x256xf32>
    graph.yield %c : tensor<(batch)x14x14x256xf32>
  }

  // More tiles to a picture than half a block has: blocks of one picture's.
  // CHECK: graph.kernel @large(
  // CHECK-SAME: schedule = #kernel.schedule<"winograd", {tile = 4, block = 49,
  // CHECK-SAME: pieces = 24>
  graph.kernel @large(%x: tensor<(batch)x28x28x128xf32>, %w: tensor<128x128x3x3xf32>) -> tensor<(batch)x28x28x128xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x28x28x128xf32>, tensor<128x128x3x3xf32>) -> tensor<(batch)x28x28x128xf32>
    graph.yield %c : tensor<(batch)x28x28x128xf32>
  }
}
