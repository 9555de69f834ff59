// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
    %big: tensor<2x3xf32> {graph.name = "big", graph.value =
      dense<[[1000.0, 1000.0, 999.0], [-1000.0, -1001.0, -1000.0]]> : tensor<2x3xf32>},
    %e: tensor<4x3xf32> {graph.name = "e", graph.value =
      dense<[[0.0, 0xFF800000, 0.0], [0x7FC00000, 0.0, 1.0], [0x7F800000, 0.0, 0.0],
             [0xFF800000, 0xFF800000, 0xFF800000]]> : tensor<4x3xf32>},
    %long: tensor<1x37xf32> {graph.name = "long", graph.value =
      dense<[[0.0, 0.5, 1.0, 1.5, 2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 0.0, 0.5, 1.0, 1.5, 2.0,
             0.0, 0.5, 1.0, 1.5, 2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 0.0,
             0.5, 1.0, 1.5, 2.0, 0.0, 0.5]]> : tensor<1x37xf32>},
    %one: tensor<2x1xf32> {graph.name = "one", graph.value = dense<[[3.0], [-4.0]]> : tensor<2x1xf32>},
    %d: tensor<3x4xf64> {graph.name = "d", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xf64>},
    %h: tensor<3x4xf16> {graph.name = "h", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xf16>},
    %b: tensor<3x4xbf16> {graph.name = "b", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xbf16>})
    -> (tensor<2x3x4xf32> {graph.name = "last", graph.expect =
      dense<[[[-2.1755154, -5.175515, -0.17551537, -3.1755154],
             [-1.349024, -0.349024, -11.349024, -3.349024],
             [-8.813656, -1.3136556, -0.3136556, -8.313656]],
             [[-8.025072, -5.025072, -0.0250721, -4.025072],
             [-0.40925357, -2.4092536, -1.4092536, -6.4092536],
             [-0.32665166, -9.326652, -4.3266516, -1.3266517]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[-3.0769467, -10.048631, -6.002476, -2.407606],
             [-0.076946646, -3.0486307, -15.002476, -0.40760598],
             [-3.5769467, -0.0486306, -0.0024759902, -1.407606]],
             [[-7.019045, -0.13284524, -0.009174485, -2.1270368],
             [-4.019045, -2.1328452, -6.0091743, -9.127037],
             [-0.019045008, -5.1328454, -5.0091743, -0.1270367]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "first", graph.expect =
      dense<[[[-0.12692802, -4.01815, -4.01815, -3.0485873],
             [-0.12692802, -0.0067153485, -7.000911, -0.0024756852],
             [-5.5040784, -1.670156e-5, -0.0009114664, -4.01815]],
             [[-2.126928, -0.018149927, -0.018149927, -0.048587352],
             [-2.126928, -5.0067153, -0.0009114664, -6.0024757],
             [-0.004078443, -11.000017, -7.000911, -0.018149927]]]> : tensor<2x3x4xf32>},
        tensor<2x3xf32> {graph.name = "shifted", graph.tolerance = 1.0e-6 : f64, graph.expect =
      dense<[[-0.8619948, -0.8619948, -1.8619949], [-0.8619948, -1.8619949, -0.8619948]]> : tensor<2x3xf32>},
        tensor<4x3xf32> {graph.name = "edges", graph.expect =
      dense<[[-0.6931472, 0xFF800000, -0.6931472], [0x7FC00000, 0x7FC00000, 0x7FC00000],
             [0x7FC00000, 0x7FC00000, 0x7FC00000], [0x7FC00000, 0x7FC00000, 0x7FC00000]]> : tensor<4x3xf32>},
        tensor<1x37xf32> {graph.name = "tail", graph.expect =
      dense<[[-4.8147254, -4.3147254, -3.8147254, -3.3147254, -2.8147254, -4.8147254,
             -4.3147254, -3.8147254, -3.3147254, -2.8147254, -4.8147254, -4.3147254,
             -3.8147254, -3.3147254, -2.8147254, -4.8147254, -4.3147254, -3.8147254,
             -3.3147254, -2.8147254, -4.8147254, -4.3147254, -3.8147254, -3.3147254,
             -2.8147254, -4.8147254, -4.3147254, -3.8147254, -3.3147254, -2.8147254,
             -4.8147254, -4.3147254, -3.8147254, -3.3147254, -2.8147254, -4.8147254,
             -4.3147254]]> : tensor<1x37xf32>},
        tensor<2x1xf32> {graph.name = "single", graph.expect =
      dense<0.0> : tensor<2x1xf32>},
        tensor<3x4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[-2.1755153626167143, -5.175515362616714, -0.1755153626167145,
             -3.1755153626167143], [-1.3490239978198626, -0.3490239978198627,
             -11.349023997819863, -3.3490239978198626], [-8.813655600053075,
             -1.313655600053075, -0.31365560005307513, -8.313655600053075]]> : tensor<3x4xf64>},
        tensor<3x4xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[-2.176, -5.176, -0.1755, -3.176], [-1.349, -0.349, -11.35, -3.35],
             [-8.81, -1.313, -0.3137, -8.31]]> : tensor<3x4xf16>},
        tensor<3x4xbf16> {graph.name = "brain", graph.tolerance = 0.02 : f64, graph.expect =
      dense<[[-3.078, -10.06, -6.0, -2.406], [-0.07715, -3.047, -15.0, -0.4082],
             [-3.578, -0.04858, -0.002472, -1.406]]> : tensor<3x4xbf16>}) {
  // Along the last axis.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.log_softmax %x {axis = 2 : i64} : tensor<2x3x4xf32>

  // Along the middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.log_softmax %x {axis = 1 : i64} : tensor<2x3x4xf32>

  // Along the first axis.
  // CHECK: first: reference, unfused, fused agree
  %first = graph.log_softmax %x {axis = 0 : i64} : tensor<2x3x4xf32>

  // Large numbers don't overflow, far negative ones don't vanish.
  // CHECK: shifted: reference, unfused, fused agree
  %shifted = graph.log_softmax %big {axis = 1 : i64} : tensor<2x3xf32>

  // -infinity counts nothing; a NaN, an infinity, or nothing but -infinity gives NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.log_softmax %e {axis = 1 : i64} : tensor<4x3xf32>

  // A row of 37: whole vectors and a tail.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.log_softmax %long {axis = 1 : i64} : tensor<1x37xf32>

  // A single element has all the weight.
  // CHECK: single: reference, unfused, fused agree
  %single = graph.log_softmax %one {axis = 1 : i64} : tensor<2x1xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.log_softmax %d {axis = 1 : i64} : tensor<3x4xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.log_softmax %h {axis = 1 : i64} : tensor<3x4xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.log_softmax %b {axis = 0 : i64} : tensor<3x4xbf16>

  func.return %last, %middle, %first, %shifted, %edges, %tail, %single, %double, %half, %brain
    : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4x3xf32>,
      tensor<1x37xf32>, tensor<2x1xf32>, tensor<3x4xf64>, tensor<3x4xf16>, tensor<3x4xbf16>
}
