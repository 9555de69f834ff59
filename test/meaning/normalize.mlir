// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x2x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 3.0, -2.0, 6.0], [5.0, 5.0, 5.0, 5.0]], [[0.0, 2.0, 10.0, -4.0], [1000.0, 1002.0, 1001.0, 1003.0]]]> : tensor<2x2x4xf32>},
    %m: tensor<2x2x2x2xf32> {graph.name = "m", graph.value =
      dense<[[[[2.0, 2.0], [2.0, 32.0]], [[5.0, 0.0], [5.0, 0.0]]], [[[1.0, 2.0], [3.0, 98.0]], [[1001.0, 2.0], [1002.0, 2.0]]]]> : tensor<2x2x2x2xf32>},
    %w: tensor<2x2x1x2xf32> {graph.name = "w", graph.value =
      dense<[[[[2.0, 34.0]], [[5.0, 0.0]]], [[[2.0, 104.0]], [[1001.5, 5.0]]]]> : tensor<2x2x1x2xf32>},
    %d: tensor<2x4xf64> {graph.name = "d", graph.value =
      dense<[[0.5, 1.5, -1.0, 3.0], [2.5, 2.5, 2.5, 2.5]]> : tensor<2x4xf64>},
    %dm: tensor<2x2x2xf64> {graph.name = "dm", graph.value =
      dense<[[[1.0, 0.5], [1.0, 8.0]], [[2.5, 0.0], [2.5, 0.0]]]> : tensor<2x2x2xf64>},
    %h: tensor<2x4xf16> {graph.name = "h", graph.value =
      dense<[[0.5, 1.5, -1.0, 3.0], [2.5, 2.5, 2.5, 2.5]]> : tensor<2x4xf16>},
    %hm: tensor<2x2x2xf16> {graph.name = "hm", graph.value =
      dense<[[[1.0, 0.5], [1.0, 8.0]], [[2.5, 0.0], [2.5, 0.0]]]> : tensor<2x2x2xf16>},
    %k: tensor<2x4xbf16> {graph.name = "k", graph.value =
      dense<[[0.5, 1.5, -1.0, 3.0], [2.5, 2.5, 2.5, 2.5]]> : tensor<2x4xbf16>},
    %km: tensor<2x2x2xbf16> {graph.name = "km", graph.value =
      dense<[[[1.0, 0.5], [1.0, 8.0]], [[2.5, 0.0], [2.5, 0.0]]]> : tensor<2x2x2xbf16>})
    -> (tensor<2x2x4xf32> {graph.name = "by_pairs", graph.expect =
      dense<[[[-0.34299695, 0.34299695, -1.3719878, 1.3719878], [0.0, 0.0, 0.0, 0.0]], [[-0.3922322, 0.0, 1.5689288, -1.1766965], [-1.3416355, 0.4472118, -0.4472118, 1.3416355]]]> : tensor<2x2x4xf32>},
        tensor<2x2x4xf32> {graph.name = "by_rows", graph.expect =
      dense<[[[-0.34299695, 0.34299695, -1.3719878, 1.3719878], [0.0, 0.0, 0.0, 0.0]], [[-0.3922322, 0.0, 1.5689288, -1.1766965], [-1.3416355, 0.4472118, -0.4472118, 1.3416355]]]> : tensor<2x2x4xf32>},
        tensor<2x2x4xf32> {graph.name = "squares", graph.expect =
      dense<[[[0.2773501, 0.8320503, -0.5547002, 1.6641006], [0.99014753, 0.99014753, 0.99014753, 0.99014753]], [[0.0, 0.36214298, 1.810715, -0.72428596], [0.99850136, 1.0004984, 0.99949986, 1.0014969]]]> : tensor<2x2x4xf32>},
        tensor<2x4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[-0.3429963632357007, 0.3429963632357007, -1.3719854529428028, 1.3719854529428028], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf64>},
        tensor<2x4xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[-0.343, 0.343, -1.372, 1.372], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xf16>},
        tensor<2x4xbf16> {graph.name = "brain", graph.tolerance = 0.02 : f64, graph.expect =
      dense<[[-0.343, 0.343, -1.372, 1.372], [0.0, 0.0, 0.0, 0.0]]> : tensor<2x4xbf16>}) {
  // A layer norm without scale and bias, by the moments of pairs; rows of equal numbers become zeros.
  // CHECK: by_pairs: reference, unfused, fused agree
  %by_pairs = graph.normalize %x, %m {epsilon = 1.0e-5 : f64, centred} : (tensor<2x2x4xf32>, tensor<2x2x2x2xf32>) -> tensor<2x2x4xf32>

  // The same by those of whole rows.
  // CHECK: by_rows: reference, unfused, fused agree
  %by_rows = graph.normalize %x, %w {epsilon = 1.0e-5 : f64, centred} : (tensor<2x2x4xf32>, tensor<2x2x1x2xf32>) -> tensor<2x2x4xf32>

  // Not centred: the square root of the mean of squares divides.
  // CHECK: squares: reference, unfused, fused agree
  %squares = graph.normalize %x, %m {epsilon = 0.5 : f64} : (tensor<2x2x4xf32>, tensor<2x2x2x2xf32>) -> tensor<2x2x4xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.normalize %d, %dm {epsilon = 1.0e-5 : f64, centred} : (tensor<2x4xf64>, tensor<2x2x2xf64>) -> tensor<2x4xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.normalize %h, %hm {epsilon = 1.0e-5 : f64, centred} : (tensor<2x4xf16>, tensor<2x2x2xf16>) -> tensor<2x4xf16>

  // bf16, computed in f32.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.normalize %k, %km {epsilon = 1.0e-5 : f64, centred} : (tensor<2x4xbf16>, tensor<2x2x2xbf16>) -> tensor<2x4xbf16>

  func.return %by_pairs, %by_rows, %squares, %double, %half, %brain
    : tensor<2x2x4xf32>, tensor<2x2x4xf32>, tensor<2x2x4xf32>, tensor<2x4xf64>, tensor<2x4xf16>, tensor<2x4xbf16>
}
