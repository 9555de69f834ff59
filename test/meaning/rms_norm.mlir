// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
    %s: tensor<4xf32> {graph.name = "s", graph.value = dense<[1.0, 2.0, -0.5, 0.0]> : tensor<4xf32>},
    %m: tensor<3x4xf32> {graph.name = "m", graph.value =
      dense<[[1.0, 2.0, -0.5, 0.0], [3.0, 1.0, 1.0, 2.0], [1.0, 1.0, -1.0, 0.25]]> : tensor<3x4xf32>},
    %two: tensor<1x2xf32> {graph.name = "two", graph.value = dense<[[3.0, 4.0]]> : tensor<1x2xf32>},
    %s2: tensor<2xf32> {graph.name = "s2", graph.value = dense<[1.0, 2.0]> : tensor<2xf32>},
    %long: tensor<1x37xf32> {graph.name = "long", graph.value =
      dense<[[100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0]]> : tensor<1x37xf32>},
    %s37: tensor<37xf32> {graph.name = "s37", graph.value =
      dense<1.0> : tensor<37xf32>},
    %z: tensor<1x4xf32> {graph.name = "z", graph.value =
      dense<0.0> : tensor<1x4xf32>},
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
      dense<[[0.6, 1.6]]> : tensor<1x2xf32>},
        tensor<2x3x4xf32> {graph.name = "last", graph.expect =
      dense<[[[0.5345217, -2.1380868, -0.8017826, 0.0],
             [0.88888866, 2.2222216, 0.6666665, 0.0],
             [0.082689814, 2.646074, -0.7442083, 0.0]],
             [[-0.25197622, 1.0079049, -0.8819168, 0.0],
             [0.87287074, 0.0, -0.21821769, -0.0],
             [1.3949713, -1.3949713, -0.23249522, 0.0]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "two_axes", graph.expect =
      dense<[[[0.2230267, -0.8921068, -0.33454004, 0.0],
             [2.6763203, 1.1151335, -1.3381602, 0.8921068],
             [0.11151335, 1.7842135, -2.0072403, 0.055756673]],
             [[-0.27558902, 1.1023561, -0.9645616, 0.0],
             [1.6535342, 0.0, 0.27558902, -2.2047122],
             [1.6535342, -0.8267671, -0.55117804, 0.34448627]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "all", graph.expect =
      dense<[[[0.24444532, -0.9777813, -0.366668, 0.0],
             [0.9777813, 2.4444532, 0.733336, 0.0],
             [0.12222266, 3.9111252, -1.100004, 0.0]],
             [[-0.24444532, 0.9777813, -0.85555863, 0.0],
             [0.48889065, 0.0, -0.12222266, -0.0], [1.466672, -1.466672, -0.24444532, 0.0]]]> : tensor<2x3x4xf32>},
        tensor<1x37xf32> {graph.name = "tail", graph.expect =
      dense<[[0.97548807, 1.0096301, 0.99012035, 1.0242624, 1.0047528, 0.98524296,
             1.019385, 0.99987525, 0.9803655, 1.0145075, 0.9949978, 0.97548807, 1.0096301,
             0.99012035, 1.0242624, 1.0047528, 0.98524296, 1.019385, 0.99987525, 0.9803655,
             1.0145075, 0.9949978, 0.97548807, 1.0096301, 0.99012035, 1.0242624, 1.0047528,
             0.98524296, 1.019385, 0.99987525, 0.9803655, 1.0145075, 0.9949978, 0.97548807,
             1.0096301, 0.99012035, 1.0242624]]> : tensor<1x37xf32>},
        tensor<1x4xf32> {graph.name = "zeros", graph.expect =
      dense<0.0> : tensor<1x4xf32>},
        tensor<3x4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[0.5345217202229368, -2.138086880891747, -0.8017825803344051, 0.0],
             [0.8888886694102321, 2.2222216735255804, 0.6666665020576742, 0.0],
             [0.08268981175146463, 2.646073976046868, -0.7442083057631816, 0.0]]> : tensor<3x4xf64>},
        tensor<3x4xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[0.5347, -2.139, -0.802, 0.0], [0.8887, 2.223, 0.6665, 0.0],
             [0.0827, 2.646, -0.744, 0.0]]> : tensor<3x4xf16>},
        tensor<3x4xbf16> {graph.name = "brain", graph.tolerance = 0.02 : f64, graph.expect =
      dense<[[0.5352, -2.141, -0.8008, 0.0], [0.8906, 2.219, 0.668, 0.0],
             [0.08252, 2.641, -0.7461, 0.0]]> : tensor<3x4xbf16>}) {
  // 3 and 4 have a mean square of 12.5; with epsilon 12.5 they are divided by 5.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.rms_norm %two, %s2 {axis = 1 : i64, epsilon = 12.5 : f64}
    : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>

  // Over the last axis.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.rms_norm %x, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>

  // Over the last two axes at once, with a scale for each element.
  // CHECK: two_axes: reference, unfused, fused agree
  %two_axes = graph.rms_norm %x, %m {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32>

  // Over everything, with a scale that broadcasts.
  // CHECK: all: reference, unfused, fused agree
  %all = graph.rms_norm %x, %s {axis = 0 : i64, epsilon = 0.1 : f64}
    : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>

  // A row of 37.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.rms_norm %long, %s37 {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<1x37xf32>, tensor<37xf32>) -> tensor<1x37xf32>

  // Zeros stay zeros: epsilon keeps the root from being 0.
  // CHECK: zeros: reference, unfused, fused agree
  %zeros = graph.rms_norm %z, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.rms_norm %d, %ds {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<3x4xf64>, tensor<4xf64>) -> tensor<3x4xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.rms_norm %h, %hs {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<3x4xf16>, tensor<4xf16>) -> tensor<3x4xf16>

  // bf16, computed in f32.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.rms_norm %k, %ks {axis = 1 : i64, epsilon = 1.0e-5 : f64}
    : (tensor<3x4xbf16>, tensor<4xbf16>) -> tensor<3x4xbf16>

  func.return %by_hand, %last, %two_axes, %all, %tail, %zeros, %double, %half, %brain
    : tensor<1x2xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<1x37xf32>,
      tensor<1x4xf32>, tensor<3x4xf64>, tensor<3x4xf16>, tensor<3x4xbf16>
}
