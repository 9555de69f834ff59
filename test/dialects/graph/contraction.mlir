// Contractions and windows keep their form in text; a flag or a bias that is absent isn't shown.
// RUN: mini-opt %s | mini-opt | filecheck %s

func.func @contraction(%a: tensor<5x2x3xf32>, %b: tensor<4x3xf32>, %x: tensor<1x8x9x6xf32>, %w: tensor<4x4x3x3xf32>, %bias: tensor<4xf32>, %t: tensor<8x3x2x2xf32>) {
  // CHECK: graph.matmul %a, %b {transpose_b} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  %0 = graph.matmul %a, %b {transpose_b} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  // CHECK: graph.matmul %a, %b {transpose_b, lhs_as = i8} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  %rounded = graph.matmul %a, %b {transpose_b, lhs_as = i8} : (tensor<5x2x3xf32>, tensor<4x3xf32>) -> tensor<5x2x4xf32>
  // CHECK: graph.conv %x, %w, %bias {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 0>, dilations = array<i64: 1, 1>, groups = 2 : i64, layout = "NCHW"} : (tensor<1x8x9x6xf32>, tensor<4x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  %1 = graph.conv %x, %w, %bias {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 0>, dilations = array<i64: 1, 1>, groups = 2, layout = "NCHW"} : (tensor<1x8x9x6xf32>, tensor<4x4x3x3xf32>, tensor<4xf32>) -> tensor<1x4x5x5xf32>
  // CHECK: graph.conv_transpose %x, %t {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 1, 0>, layout = "NCHW"} : (tensor<1x8x9x6xf32>, tensor<8x3x2x2xf32>) -> tensor<1x3x19x12xf32>
  %2 = graph.conv_transpose %x, %t {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1, output_padding = array<i64: 1, 0>, layout = "NCHW"} : (tensor<1x8x9x6xf32>, tensor<8x3x2x2xf32>) -> tensor<1x3x19x12xf32>
  func.return
}

func.func @windows(%x: tensor<1x8x9x6xf32>) {
  // CHECK: graph.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC"} : (tensor<1x8x9x6xf32>) -> tensor<1x4x5x6xf32>
  %0 = graph.max_pool %x {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC"} : (tensor<1x8x9x6xf32>) -> tensor<1x4x5x6xf32>
  // CHECK: graph.avg_pool %x {kernel = array<i64: 9, 6>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NCHW", count_include_pad} : (tensor<1x8x9x6xf32>) -> tensor<1x8x1x1xf32>
  %1 = graph.avg_pool %x {kernel = array<i64: 9, 6>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NCHW", count_include_pad} : (tensor<1x8x9x6xf32>) -> tensor<1x8x1x1xf32>
  // CHECK: graph.lrn %x {size = 5 : i64, alpha = 1.000000e-04 : f64, beta = 7.500000e-01 : f64, bias = 1.000000e+00 : f64, layout = "NCHW"} : tensor<1x8x9x6xf32>
  %2 = graph.lrn %x {size = 5, alpha = 0.0001, beta = 0.75, bias = 1.0, layout = "NCHW"} : tensor<1x8x9x6xf32>
  func.return
}
