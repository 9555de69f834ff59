// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %scale: tensor<3xf32> {graph.name = "scale", graph.value =
      dense<[1.0, 2.0, -0.5]> : tensor<3xf32>},
    %bias: tensor<3xf32> {graph.name = "bias", graph.value = dense<[0.0, 1.0, 3.0]> : tensor<3xf32>},
    %mean: tensor<3xf32> {graph.name = "mean", graph.value = dense<[1.0, 0.0, 2.0]> : tensor<3xf32>},
    %variance: tensor<3xf32> {graph.name = "variance", graph.value =
      dense<[4.0, 0.25, 1.0]> : tensor<3xf32>},
    %row: tensor<1x3xf32> {graph.name = "row", graph.value =
      dense<[[3.0, 1.0, 2.0]]> : tensor<1x3xf32>},
    %x: tensor<2x3x2x3xf32> {graph.name = "x", graph.value =
      dense<[[[[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]], [[3.0, -3.0, -2.0], [-1.0, 0.0, 1.0]],
             [[2.0, 3.0, -3.0], [-2.0, -1.0, 0.0]]], [[[1.0, 2.0, 3.0], [-3.0, -2.0, -1.0]],
             [[0.0, 1.0, 2.0], [3.0, -3.0, -2.0]], [[-1.0, 0.0, 1.0], [2.0, 3.0, -3.0]]]]> : tensor<2x3x2x3xf32>},
    %v: tensor<1x3x2x2x3xf32> {graph.name = "v", graph.value =
      dense<[[[[[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]], [[3.0, -3.0, -2.0],
             [-1.0, 0.0, 1.0]]], [[[2.0, 3.0, -3.0], [-2.0, -1.0, 0.0]], [[1.0, 2.0, 3.0],
             [-3.0, -2.0, -1.0]]], [[[0.0, 1.0, 2.0], [3.0, -3.0, -2.0]], [[-1.0, 0.0, 1.0],
             [2.0, 3.0, -3.0]]]]]> : tensor<1x3x2x2x3xf32>},
    %d: tensor<1x3x2x3xf64> {graph.name = "d", graph.value =
      dense<[[[[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]], [[3.0, -3.0, -2.0], [-1.0, 0.0, 1.0]],
             [[2.0, 3.0, -3.0], [-2.0, -1.0, 0.0]]]]> : tensor<1x3x2x3xf64>},
    %ds: tensor<3xf64> {graph.name = "ds", graph.value = dense<[1.0, 2.0, -0.5]> : tensor<3xf64>},
    %db: tensor<3xf64> {graph.name = "db", graph.value = dense<[0.0, 1.0, 3.0]> : tensor<3xf64>},
    %dm: tensor<3xf64> {graph.name = "dm", graph.value = dense<[1.0, 0.0, 2.0]> : tensor<3xf64>},
    %dv: tensor<3xf64> {graph.name = "dv", graph.value = dense<[4.0, 0.25, 1.0]> : tensor<3xf64>},
    %h: tensor<1x3x2x3xf16> {graph.name = "h", graph.value =
      dense<[[[[-3.0, -2.0, -1.0], [0.0, 1.0, 2.0]], [[3.0, -3.0, -2.0], [-1.0, 0.0, 1.0]],
             [[2.0, 3.0, -3.0], [-2.0, -1.0, 0.0]]]]> : tensor<1x3x2x3xf16>},
    %hs: tensor<3xf16> {graph.name = "hs", graph.value = dense<[1.0, 2.0, -0.5]> : tensor<3xf16>},
    %hb: tensor<3xf16> {graph.name = "hb", graph.value = dense<[0.0, 1.0, 3.0]> : tensor<3xf16>},
    %hm: tensor<3xf16> {graph.name = "hm", graph.value = dense<[1.0, 0.0, 2.0]> : tensor<3xf16>},
    %hv: tensor<3xf16> {graph.name = "hv", graph.value = dense<[4.0, 0.25, 1.0]> : tensor<3xf16>})
    -> (tensor<1x3xf32> {graph.name = "by_hand", graph.expect =
      dense<[[1.0, 5.0, 3.0]]> : tensor<1x3xf32>},
        tensor<2x3x2x3xf32> {graph.name = "first", graph.expect =
      dense<[[[[-1.9999975, -1.4999981, -0.99999875], [-0.49999937, 0.0, 0.49999937]],
             [[12.99976, -10.99976, -6.99984], [-2.99992, 1.0, 4.99992]],
             [[3.0, 2.5000024, 5.4999876], [4.99999, 4.4999924, 3.999995]]],
             [[[0.0, 0.49999937, 0.99999875], [-1.9999975, -1.4999981, -0.99999875]],
             [[1.0, 4.99992, 8.99984], [12.99976, -10.99976, -6.99984]],
             [[4.4999924, 3.999995, 3.4999976], [3.0, 2.5000024, 5.4999876]]]]> : tensor<2x3x2x3xf32>},
        tensor<2x3x2x3xf32> {graph.name = "last", graph.expect =
      dense<[[[[-1.9999975, -6.99984, 4.4999924], [-0.49999937, 4.99992, 3.0]],
             [[0.99999875, -10.99976, 4.99999], [-0.99999875, 1.0, 3.4999976]],
             [[0.49999937, 12.99976, 5.4999876], [-1.4999981, -2.99992, 3.999995]]],
             [[[0.0, 8.99984, 2.5000024], [-1.9999975, -6.99984, 4.4999924]],
             [[-0.49999937, 4.99992, 3.0], [0.99999875, -10.99976, 4.99999]],
             [[-0.99999875, 1.0, 3.4999976], [0.49999937, 12.99976, 5.4999876]]]]> : tensor<2x3x2x3xf32>},
        tensor<2x3x2x3xf32> {graph.name = "constants", graph.expect =
      dense<[[[[-1.8856181, -1.4142135, -0.94280905], [-0.47140452, 0.0, 0.47140452]],
             [[7.928203, -5.928203, -3.618802], [-1.309401, 1.0, 3.309401]],
             [[3.0, 2.5917518, 5.0412416], [4.632993, 4.224745, 3.8164966]]],
             [[[0.0, 0.47140452, 0.94280905], [-1.8856181, -1.4142135, -0.94280905]],
             [[1.0, 3.309401, 5.618802], [7.928203, -5.928203, -3.618802]],
             [[4.224745, 3.8164966, 3.4082482], [3.0, 2.5917518, 5.0412416]]]]> : tensor<2x3x2x3xf32>},
        tensor<2x3x2x3xf32> {graph.name = "constants_last", graph.expect =
      dense<[[[[-1.8856181, -3.618802, 4.224745], [-0.47140452, 3.309401, 3.0]],
             [[0.94280905, -5.928203, 4.632993], [-0.94280905, 1.0, 3.4082482]],
             [[0.47140452, 7.928203, 5.0412416], [-1.4142135, -1.309401, 3.8164966]]],
             [[[0.0, 5.618802, 2.5917518], [-1.8856181, -3.618802, 4.224745]],
             [[-0.47140452, 3.309401, 3.0], [0.94280905, -5.928203, 4.632993]],
             [[-0.94280905, 1.0, 3.4082482], [0.47140452, 7.928203, 5.0412416]]]]> : tensor<2x3x2x3xf32>},
        tensor<1x3x2x2x3xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[-1.9999975, -1.4999981, -0.99999875], [-0.49999937, 0.0, 0.49999937]],
             [[0.99999875, -1.9999975, -1.4999981], [-0.99999875, -0.49999937, 0.0]]],
             [[[8.99984, 12.99976, -10.99976], [-6.99984, -2.99992, 1.0]],
             [[4.99992, 8.99984, 12.99976], [-10.99976, -6.99984, -2.99992]]],
             [[[3.999995, 3.4999976, 3.0], [2.5000024, 5.4999876, 4.99999]],
             [[4.4999924, 3.999995, 3.4999976], [3.0, 2.5000024, 5.4999876]]]]]> : tensor<1x3x2x2x3xf32>},
        tensor<1x3x2x3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[-1.9999975000046875, -1.4999981250035155, -0.9999987500023437],
             [-0.49999937500117186, 0.0, 0.49999937500117186]],
             [[12.99976000719976, -10.99976000719976, -6.9998400047998395],
             [-2.9999200023999197, 1.0, 4.99992000239992]],
             [[3.0, 2.50000249998125, 5.4999875000937495],
             [4.999990000075, 4.4999925000562495, 3.9999950000375]]]]> : tensor<1x3x2x3xf64>},
        tensor<1x3x2x3xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[[[-2.0, -1.5, -1.0], [-0.5, 0.0, 0.5]], [[13.0, -11.0, -7.0],
             [-3.0, 1.0, 5.0]], [[3.0, 2.5, 5.5], [5.0, 4.5, 4.0]]]]> : tensor<1x3x2x3xf16>}) {
  %ks = graph.constant dense<[1.0, 2.0, -0.5]> : tensor<3xf32>
  %kb = graph.constant dense<[0.0, 1.0, 3.0]> : tensor<3xf32>
  %km = graph.constant dense<[1.0, 0.0, 2.0]> : tensor<3xf32>
  %kv = graph.constant dense<[4.0, 0.25, 1.0]> : tensor<3xf32>

  // (3 - 1) / 2 is 1; (1 - 0) / 0.5 * 2 + 1 is 5; (2 - 2) * -0.5 + 3 is 3.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.batch_norm %row, %scale, %bias, %mean, %variance {epsilon = 0.0 : f64, layout = "NCHW"}
    : (tensor<1x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<1x3xf32>

  // Channels first.
  // CHECK: first: reference, unfused, fused agree
  %first = graph.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64, layout = "NCHW"}
    : (tensor<2x3x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x3xf32>

  // The same numbers with channels last.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64, layout = "NHWC"}
    : (tensor<2x3x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x3xf32>

  // With parameters that are known.
  // CHECK: constants: reference, unfused, fused agree
  %constants = graph.batch_norm %x, %ks, %kb, %km, %kv {epsilon = 0.5 : f64, layout = "NCHW"}
    : (tensor<2x3x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x3xf32>

  // And with channels last.
  // CHECK: constants_last: reference, unfused, fused agree
  %constants_last = graph.batch_norm %x, %ks, %kb, %km, %kv {epsilon = 0.5 : f64, layout = "NHWC"}
    : (tensor<2x3x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x2x3xf32>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.batch_norm %v, %scale, %bias, %mean, %variance {epsilon = 1.0e-5 : f64, layout = "NCHW"}
    : (tensor<1x3x2x2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    -> tensor<1x3x2x2x3xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.batch_norm %d, %ds, %db, %dm, %dv {epsilon = 1.0e-5 : f64, layout = "NCHW"}
    : (tensor<1x3x2x3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<1x3x2x3xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.batch_norm %h, %hs, %hb, %hm, %hv {epsilon = 1.0e-5 : f64, layout = "NCHW"}
    : (tensor<1x3x2x3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<1x3x2x3xf16>

  func.return %by_hand, %first, %last, %constants, %constants_last, %volume, %double, %half
    : tensor<1x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>, tensor<2x3x2x3xf32>,
      tensor<1x3x2x2x3xf32>, tensor<1x3x2x3xf64>, tensor<1x3x2x3xf16>
}
