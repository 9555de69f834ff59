// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
    %s: tensor<4xf32> {graph.name = "s", graph.value = dense<[1.0, 2.0, -0.5, 0.0]> : tensor<4xf32>},
    %b: tensor<4xf32> {graph.name = "b", graph.value = dense<[0.5, 0.0, -1.0, 3.0]> : tensor<4xf32>},
    %m: tensor<3x4xf32> {graph.name = "m", graph.value =
      dense<[[1.0, 2.0, -0.5, 0.0], [3.0, 1.0, 1.0, 2.0], [1.0, 1.0, -1.0, 0.25]]> : tensor<3x4xf32>},
    %two: tensor<1x2xf32> {graph.name = "two", graph.value = dense<[[-1.0, 1.0]]> : tensor<1x2xf32>},
    %s2: tensor<2xf32> {graph.name = "s2", graph.value = dense<[1.0, 2.0]> : tensor<2xf32>},
    %b2: tensor<2xf32> {graph.name = "b2", graph.value = dense<[0.0, 10.0]> : tensor<2xf32>},
    %long: tensor<1x37xf32> {graph.name = "long", graph.value =
      dense<[[100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0]]> : tensor<1x37xf32>},
    %s37: tensor<37xf32> {graph.name = "s37", graph.value =
      dense<1.0> : tensor<37xf32>},
    %c: tensor<1x4xf32> {graph.name = "c", graph.value =
      dense<7.0> : tensor<1x4xf32>},
    %d: tensor<3x4xf64> {graph.name = "d", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xf64>},
    %ds: tensor<4xf64> {graph.name = "ds", graph.value = dense<[1.0, 2.0, -0.5, 0.0]> : tensor<4xf64>},
    %h: tensor<3x4xf16> {graph.name = "h", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xf16>},
    %hs: tensor<4xf16> {graph.name = "hs", graph.value = dense<[1.0, 2.0, -0.5, 0.0]> : tensor<4xf16>},
    %k: tensor<3x4xbf16> {graph.name = "k", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xbf16>},
    %ks: tensor<4xbf16> {graph.name = "ks", graph.value =
      dense<[1.0, 2.0, -0.5, 0.0]> : tensor<4xbf16>})
    -> (tensor<1x2xf32> {graph.name = "by_hand", graph.expect =
      dense<[[-0.5, 11.0]]> : tensor<1x2xf32>},
        tensor<2x3x4xf32> {graph.name = "last", graph.expect =
      dense<[[[0.77734965, -2.7734966, -1.6933742, 3.0],
             [1.1361463, 1.7349443, -0.16144358, 3.0],
             [-0.55902004, 1.7329419, -1.5616015, 3.0]],
             [[-0.8105553, -0.52422214, -1.742648, 3.0],
             [1.4878774, 0.2195283, -1.2744104, 3.0],
             [1.4999996, -3.142856, -0.92857146, 3.0]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "no_bias", graph.expect =
      dense<[[[0.27734968, -2.7734966, -0.69337416, -0.0],
             [0.63614625, 1.7349443, 0.8385564, 0.0],
             [-1.05902, 1.7329419, -0.5616015, -0.0]],
             [[-1.3105553, -0.52422214, -0.742648, 0.0],
             [0.98787737, 0.2195283, -0.2744104, -0.0],
             [0.9999996, -3.142856, 0.071428545, 0.0]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "two_axes", graph.expect =
      dense<[[[-0.28493753, -2.089542, -0.110809036, -0.0],
             [1.4246876, 0.7281737, -2.057882, -0.06331945],
             [-0.41157642, 1.4880071, -1.7412848, -0.07123438]],
             [[-0.8273399, 0.20683497, -0.8273399, 0.0],
             [0.31025246, -0.51708746, -0.20683497, -3.5161946],
             [1.3444273, -1.4478449, -0.103417486, 0.25854373]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "repeated", graph.expect =
      dense<[[[0.21506248, -2.089542, -1.1108091, 3.0],
             [0.9748959, 1.4563473, 0.028941043, 3.0],
             [0.08842358, 2.9760141, -1.8706424, 3.0]],
             [[-0.32733992, 0.20683497, -1.8273399, 3.0],
             [0.6034175, -1.0341749, -0.8965825, 3.0],
             [1.8444273, -2.8956897, -1.0517087, 3.0]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "all", graph.expect =
      dense<[[[-0.24712072, -2.1493757, -0.15229534, -0.0],
             [1.7413391, 0.856302, -2.1781106, 0.057469934],
             [-0.38504857, 1.6838691, -1.9597248, -0.06178018]],
             [[-0.7988321, 0.057469934, -0.70400673, 0.0],
             [0.0862049, -0.5229764, -0.24712072, -3.2527983],
             [1.1321577, -1.3505435, -0.028734967, 0.2140755]]]> : tensor<2x3x4xf32>},
        tensor<1x37xf32> {graph.name = "tail", graph.tolerance = 5.0e-6 : f64, graph.expect =
      dense<[[-1.5440245, 0.6176098, -0.6176098, 1.5440245, 0.3088049, -0.92641467,
             1.2352196, 0.0, -1.2352196, 0.92641467, -0.3088049, -1.5440245, 0.6176098,
             -0.6176098, 1.5440245, 0.3088049, -0.92641467, 1.2352196, 0.0, -1.2352196,
             0.92641467, -0.3088049, -1.5440245, 0.6176098, -0.6176098, 1.5440245,
             0.3088049, -0.92641467, 1.2352196, 0.0, -1.2352196, 0.92641467, -0.3088049,
             -1.5440245, 0.6176098, -0.6176098, 1.5440245]]> : tensor<1x37xf32>},
        tensor<1x4xf32> {graph.name = "constant", graph.expect =
      dense<[[0.5, 0.0, -1.0, 3.0]]> : tensor<1x4xf32>},
        tensor<3x4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[0.2773496714211406, -2.773496714211406, -0.6933741785528515, -0.0],
             [0.6361462549565312, 1.7349443316996305, 0.8385564269881547, 0.0],
             [-1.0590200482717926, 1.7329418971720243, -0.5616015407501931, -0.0]]> : tensor<3x4xf64>},
        tensor<3x4xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[0.2773, -2.773, -0.6934, -0.0], [0.636, 1.735, 0.8384, 0.0],
             [-1.059, 1.733, -0.5615, -0.0]]> : tensor<3x4xf16>},
        tensor<3x4xbf16> {graph.name = "brain", graph.tolerance = 0.02 : f64, graph.expect =
      dense<[[0.2773, -2.781, -0.6953, -0.0], [0.6367, 1.734, 0.8398, 0.0],
             [-1.062, 1.734, -0.5625, -0.0]]> : tensor<3x4xbf16>}) {
  // -1 and 1 have mean 0 and variance 1: only epsilon 3 halves them.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.layer_norm %two, %s2, %b2 {axis = 1 : i64, epsilon = 3.0 : f64}
    : (tensor<1x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2xf32>

  // Over the last axis, with scale and bias.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.layer_norm %x, %s, %b {axis = 2 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>

  // Without a bias.
  // CHECK: no_bias: reference, unfused, fused agree
  %no_bias = graph.layer_norm %x, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>

  // Over the last two axes at once, with a scale for each element.
  // CHECK: two_axes: reference, unfused, fused agree
  %two_axes = graph.layer_norm %x, %m {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>

  // A scale that broadcasts to what is normalised.
  // CHECK: repeated: reference, unfused, fused agree
  %repeated = graph.layer_norm %x, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>

  // Over everything.
  // CHECK: all: reference, unfused, fused agree
  %all = graph.layer_norm %x, %m {axis = 0 : i64, epsilon = 0.1 : f64}
    : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>

  // A row of 37 numbers around 100: the mean is taken off before squaring.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.layer_norm %long, %s37 {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<1x37xf32>, tensor<37xf32>) -> tensor<1x37xf32>

  // Equal numbers become zero: the bias is left.
  // CHECK: constant: reference, unfused, fused agree
  %constant = graph.layer_norm %c, %s, %b {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<1x4xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.layer_norm %d, %ds {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3x4xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.layer_norm %h, %hs {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<3x4xf16>, tensor<4xf16>) -> tensor<3x4xf16>

  // bf16, computed in f32.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.layer_norm %k, %ks {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<3x4xbf16>

  func.return %by_hand, %last, %no_bias, %two_axes, %repeated, %all, %tail, %constant, %double, %half, %brain
    : tensor<1x2xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>,
      tensor<2x3x4xf32>, tensor<1x37xf32>, tensor<1x4xf32>, tensor<3x4xf64>, tensor<3x4xf16>,
      tensor<3x4xbf16>
}
