// RUN: mini-opt %s -p choose-schedule | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 65536, threads = 1>, kernel.symbols = #kernel.symbols<dim height = 40 in [10, 80], dim width = 16 in [8, 32]>} {
  func.func @main() {
    func.return
  }

  // As many rows as fit half the cache at the current width, in nearly equal bands; their scratch is as wide as a picture is.
  // CHECK: graph.kernel @convs(
  // CHECK-SAME: schedule = #kernel.schedule<"bands", {band = 9, mr = 14, nr = 32, lanes = 16, tile_rows = 3, tile_columns = 7}>
  // CHECK-SAME: per_thread = (width * 1920), pieces = 5>
  graph.kernel @convs(%x: tensor<1x(height)x(width)x8xf32>, %e: tensor<24x8x1x1xf32>, %d: tensor<24x1x3x3xf32>, %p: tensor<16x24x1x1xf32>) -> tensor<1x(height)x(width)x16xf32> attributes {form = #kernel.form<"separable">, constant_operands = array<i64: 1, 2, 3>} {
    %a = graph.conv %x, %e {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x(height)x(width)x8xf32>, tensor<24x8x1x1xf32>) -> tensor<1x(height)x(width)x24xf32>
    %b = graph.conv %a, %d {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 24 : i64, layout = "NHWC"} : (tensor<1x(height)x(width)x24xf32>, tensor<24x1x3x3xf32>) -> tensor<1x(height)x(width)x24xf32>
    %c = graph.conv %b, %p {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x(height)x(width)x24xf32>, tensor<16x24x1x1xf32>) -> tensor<1x(height)x(width)x16xf32>
    graph.yield %c : tensor<1x(height)x(width)x16xf32>
  }
  // So of a convolution's rows that a pool reads.
  // CHECK: graph.kernel @pooled(
  // CHECK-SAME: schedule = #kernel.schedule<"pooled_panels", {mr = 14, nr = 32, lanes = 16, inline = 1, prefetch = 16, band = 3}>
  // CHECK-SAME: per_thread = (width * 896), pieces = 7>
  graph.kernel @pooled(%x: tensor<1x(height)x(width)x8xf32>, %w: tensor<32x8x3x3xf32>) -> tensor<1x((height + 1) floordiv 2)x((width + 1) floordiv 2)x32xf32> attributes {form = #kernel.form<"contraction">, constant_operands = array<i64: 1>} {
    %a = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x(height)x(width)x8xf32>, tensor<32x8x3x3xf32>) -> tensor<1x(height)x(width)x32xf32>
    %b = graph.max_pool %a {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x(height)x(width)x32xf32>) -> tensor<1x((height + 1) floordiv 2)x((width + 1) floordiv 2)x32xf32>
    graph.yield %b : tensor<1x((height + 1) floordiv 2)x((width + 1) floordiv 2)x32xf32>
  }
}
