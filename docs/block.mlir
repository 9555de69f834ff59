builtin.module attributes {mini_infer.level = "graph"} {
func.func @main(%image: tensor<1x3x8x8xf32> {graph.name = "image"}) -> (tensor<1x16x4x4xf32> {graph.name = "features"}) {
  %w = graph.constant dense<0.1> : tensor<16x3x3x3xf32>
  %b = graph.constant dense<0.5> : tensor<16xf32>
  %c = graph.conv %image, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x8x8xf32>, tensor<16x3x3x3xf32>, tensor<16xf32>) -> tensor<1x16x8x8xf32>
  %r = graph.relu %c : tensor<1x16x8x8xf32>
  %p = graph.max_pool %r {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x16x8x8xf32>) -> tensor<1x16x4x4xf32>
  func.return %p : tensor<1x16x4x4xf32>
}
}
