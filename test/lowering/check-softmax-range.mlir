// RUN: mini-opt %s -t check | filecheck %s

// Rows of huge numbers: what counts is how far they are apart, and equal ones are equally likely.
func.func @main(
    %x: tensor<5x5xf32> {graph.name = "x", graph.value =
      dense<[[-3.4028235e38, -3.4028235e38, -3.4028235e38, -3.4028235e38, -3.4028235e38],
             [0.0, -3.4028235e38, 0.0, -3.4028235e38, -3.4028235e38],
             [5.0e9, 5.0e9, 4.0e9, 5.0e9, 5.0e9],
             [3.4028235e38, -3.4028235e38, 3.4028235e38, 0.0, 0.0],
             [-1.0e20, -1.0e20, -1.0e20, -1.0e20, 0xFF800000]]> : tensor<5x5xf32>},
    %y: tensor<2x17xf32> {graph.name = "y", graph.value =
      dense<7.7777777e30> : tensor<2x17xf32>},
    %q: tensor<1x1x3x2xf32> {graph.name = "q", graph.value =
      dense<[[[[0.0, 0.0], [1.0, -2.0], [0.0, 0.0]]]]> : tensor<1x1x3x2xf32>},
    %v: tensor<1x1x3x2xf32> {graph.name = "v", graph.value =
      dense<[[[[3.0, 6.0], [0.0, 9.0], [6.0, 0.0]]]]> : tensor<1x1x3x2xf32>},
    %mask: tensor<3x3xf32> {graph.name = "mask", graph.value =
      dense<[[0.0, 0.0, -3.4028235e38], [-3.4028235e38, -3.4028235e38, -3.4028235e38],
             [0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<3x3xf32>})
    -> (tensor<5x5xf32> {graph.name = "weights", graph.expect =
      dense<[[0.2, 0.2, 0.2, 0.2, 0.2], [0.5, 0.0, 0.5, 0.0, 0.0], [0.25, 0.25, 0.0, 0.25, 0.25],
             [0.5, 0.0, 0.5, 0.0, 0.0], [0.25, 0.25, 0.25, 0.25, 0.0]]> : tensor<5x5xf32>},
        tensor<5x5xf32> {graph.name = "logarithms", graph.expect =
      dense<[[-1.609438, -1.609438, -1.609438, -1.609438, -1.609438],
             [-0.6931472, -3.4028235e38, -0.6931472, -3.4028235e38, -3.4028235e38],
             [-1.3862944, -1.3862944, -1.0e9, -1.3862944, -1.3862944],
             [-0.6931472, 0xFF800000, -0.6931472, -3.4028235e38, -3.4028235e38],
             [-1.3862944, -1.3862944, -1.3862944, -1.3862944, 0xFF800000]]> : tensor<5x5xf32>},
        tensor<5x5xf32> {graph.name = "down", graph.expect =
      dense<[[0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0, 1.0],
             [1.0, 0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<5x5xf32>},
        tensor<2x17xf32> {graph.name = "scaled", graph.expect =
      dense<0.05882353> : tensor<2x17xf32>},
        tensor<2x17xf32> {graph.name = "scaled_logarithms", graph.expect =
      dense<-2.8332133> : tensor<2x17xf32>},
        tensor<2x17xf32> {graph.name = "by_hand", graph.expect =
      dense<1.0> : tensor<2x17xf32>},
        tensor<1x1x3x2xf32> {graph.name = "attended", graph.expect =
      dense<[[[[1.5, 7.5], [3.0, 5.0], [0x7FC00000, 0x7FC00000]]]]> : tensor<1x1x3x2xf32>},
        tensor<1x1x3x2xf32> {graph.name = "zeros", graph.expect =
      dense<[[[[1.5, 7.5], [3.0, 5.0], [0.0, 0.0]]]]> : tensor<1x1x3x2xf32>}) {
  %factor = graph.constant dense<0.3> : tensor<f32>

  // A row of nothing but the lowest number gives 1/n, one with a zero leaves them nothing.
  // CHECK: weights: reference, unfused, fused agree
  %weights = graph.softmax %x {axis = 1 : i64} : tensor<5x5xf32>

  // CHECK: logarithms: reference, unfused, fused agree
  %logarithms = graph.log_softmax %x {axis = 1 : i64} : tensor<5x5xf32>

  // Across rows: one in each lane.
  // CHECK: down: reference, unfused, fused agree
  %down = graph.softmax %x {axis = 0 : i64} : tensor<5x5xf32>

  // A product in front is rounded before the largest one is subtracted.
  // CHECK: scaled: reference, unfused, fused agree
  %0 = graph.mul %y, %factor : (tensor<2x17xf32>, tensor<f32>) -> tensor<2x17xf32>
  %scaled = graph.softmax %0 {axis = 1 : i64} : tensor<2x17xf32>

  // CHECK: scaled_logarithms: reference, unfused, fused agree
  %1 = graph.mul %y, %factor : (tensor<2x17xf32>, tensor<f32>) -> tensor<2x17xf32>
  %scaled_logarithms = graph.log_softmax %1 {axis = 1 : i64} : tensor<2x17xf32>

  // The same in pieces: exp(x - max(x)).
  // CHECK: by_hand: reference, unfused, fused agree
  %2 = graph.mul %y, %factor : (tensor<2x17xf32>, tensor<f32>) -> tensor<2x17xf32>
  %3 = graph.reduce_max %2 {axes = array<i64: 1>, keepdims} : (tensor<2x17xf32>) -> tensor<2x1xf32>
  %4 = graph.sub %2, %3 : (tensor<2x17xf32>, tensor<2x1xf32>) -> tensor<2x17xf32>
  %by_hand = graph.exp %4 : (tensor<2x17xf32>) -> tensor<2x17xf32>

  // Inside attention, a row of nothing but the lowest number attends to all keys alike; one of -infinity is NaN.
  // CHECK: attended: reference, unfused, fused agree
  %5 = graph.matmul %q, %q {transpose_b} : (tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x3x3xf32>
  %6 = graph.add %5, %mask : (tensor<1x1x3x3xf32>, tensor<3x3xf32>) -> tensor<1x1x3x3xf32>
  %7 = graph.softmax %6 {axis = 3 : i64} : tensor<1x1x3x3xf32>
  %attended = graph.matmul %7, %v : (tensor<1x1x3x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x3x2xf32>

  // CHECK: zeros: reference, unfused, fused agree
  %zeros = graph.attention %q, %q, %v, %mask {scale = 1.0 : f64}
    : (tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>, tensor<3x3xf32>) -> tensor<1x1x3x2xf32>

  func.return %weights, %logarithms, %down, %scaled, %scaled_logarithms, %by_hand, %attended, %zeros
    : tensor<5x5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<2x17xf32>, tensor<2x17xf32>, tensor<2x17xf32>,
      tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>
}
