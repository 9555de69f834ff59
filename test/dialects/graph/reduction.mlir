// Reductions and normalisations keep their form in text.
// RUN: mini-opt %s | mini-opt | filecheck %s

func.func @reduction(%x: tensor<2x3x4xf32>) {
  // CHECK: graph.reduce_sum %x {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  // CHECK: graph.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  // CHECK: graph.reduce_max %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>
  // CHECK: graph.reduce_min %x {axes = array<i64>} : tensor<2x3x4xf32>
  // CHECK: graph.reduce_prod %x {axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  %0 = graph.reduce_sum %x {axes = array<i64: 0, 2>, keepdims} : (tensor<2x3x4xf32>) -> tensor<1x3x1xf32>
  %1 = graph.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %2 = graph.reduce_max %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>
  %3 = graph.reduce_min %x {axes = array<i64>} : tensor<2x3x4xf32>
  %4 = graph.reduce_prod %x {axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>
  // CHECK: graph.arg_max %x {axis = 1 : i64, select_last} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  // CHECK: graph.arg_min %x {axis = 1 : i64, keepdims} : (tensor<2x3x4xf32>) -> tensor<2x1x4xi64>
  // CHECK: graph.cumsum %x {axis = 1 : i64, exclusive, reverse} : tensor<2x3x4xf32>
  // CHECK: graph.softmax %x {axis = 2 : i64} : tensor<2x3x4xf32>
  // CHECK: graph.log_softmax %x {axis = 2 : i64} : tensor<2x3x4xf32>
  %5 = graph.arg_max %x {axis = 1, select_last} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>
  %6 = graph.arg_min %x {axis = 1, keepdims} : (tensor<2x3x4xf32>) -> tensor<2x1x4xi64>
  %7 = graph.cumsum %x {axis = 1, exclusive, reverse} : tensor<2x3x4xf32>
  %8 = graph.softmax %x {axis = 2} : tensor<2x3x4xf32>
  %9 = graph.log_softmax %x {axis = 2} : tensor<2x3x4xf32>
  // CHECK: graph.top_k %x {axis = 1 : i64, count = 2 : i64, smallest} : (tensor<2x3x4xf32>) -> tensor<2x2x4xi64>
  %10 = graph.top_k %x {axis = 1, count = 2, smallest} : (tensor<2x3x4xf32>) -> tensor<2x2x4xi64>
  func.return
}

func.func @normalization(%x: tensor<2x3x4xf32>, %s: tensor<4xf32>, %c: tensor<3xf32>) {
  // CHECK: graph.layer_norm %x, %s, %s {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.layer_norm %x, %s {axis = 1 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.rms_norm %x, %s {axis = 2 : i64, epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.batch_norm %x, %c, %c, %c, %c {epsilon = 1.000000e-05 : f64, layout = "NCHW"} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.instance_norm %x, %c, %c {epsilon = 1.000000e-05 : f64} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %0 = graph.layer_norm %x, %s, %s {axis = 2, epsilon = 0.00001} : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %1 = graph.layer_norm %x, %s {axis = 1, epsilon = 0.00001} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %2 = graph.rms_norm %x, %s {axis = 2, epsilon = 0.00001} : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>
  %3 = graph.batch_norm %x, %c, %c, %c, %c {epsilon = 0.00001, layout = "NCHW"} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  %4 = graph.instance_norm %x, %c, %c {epsilon = 0.00001} : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
  func.return
}
