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
      dense<[[[0.11354962, 0.0056533027, 0.8390245, 0.04177257],
             [0.2594934, 0.7053762, 1.1780982e-5, 0.035118613],
             [0.00014868872, 0.2688355, 0.73077065, 0.00024514625]],
             [[0.00032715645, 0.0065711127, 0.9752396, 0.017862136],
             [0.6641458, 0.08988236, 0.2443256, 0.0016462528],
             [0.721335, 8.9019806e-5, 0.01321171, 0.2653643]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[0.0460998, 4.3244927e-5, 0.0024726223, 0.09003057],
             [0.92593926, 0.04742382, 3.0514585e-7, 0.66524094],
             [0.027960943, 0.95253295, 0.99752706, 0.24472848]],
             [[0.0008946795, 0.8756006, 0.9908675, 0.11918996],
             [0.017970119, 0.11849965, 0.0024561149, 0.00010868718],
             [0.9811352, 0.0058997506, 0.0066764127, 0.88070136]]]> : tensor<2x3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "first", graph.expect =
      dense<[[[0.8807971, 0.01798621, 0.01798621, 0.047425874],
             [0.8807971, 0.9933072, 0.0009110512, 0.99752736],
             [0.0040701376, 0.9999833, 0.99908894, 0.01798621]],
             [[0.11920292, 0.98201376, 0.98201376, 0.95257413],
             [0.11920292, 0.006692851, 0.99908894, 0.0024726233],
             [0.99592984, 1.6701422e-5, 0.0009110512, 0.98201376]]]> : tensor<2x3x4xf32>},
        tensor<2x3xf32> {graph.name = "shifted", graph.tolerance = 1.0e-6 : f64, graph.expect =
      dense<[[0.4223188, 0.4223188, 0.1553624], [0.4223188, 0.1553624, 0.4223188]]> : tensor<2x3xf32>},
        tensor<4x3xf32> {graph.name = "edges", graph.expect =
      dense<[[0.5, 0.0, 0.5], [0x7FC00000, 0x7FC00000, 0x7FC00000],
             [0x7FC00000, 0x7FC00000, 0x7FC00000], [0x7FC00000, 0x7FC00000, 0x7FC00000]]> : tensor<4x3xf32>},
        tensor<1x37xf32> {graph.name = "tail", graph.expect =
      dense<[[0.008109448, 0.013370219, 0.022043765, 0.03634402, 0.059921164, 0.008109448,
             0.013370219, 0.022043765, 0.03634402, 0.059921164, 0.008109448, 0.013370219,
             0.022043765, 0.03634402, 0.059921164, 0.008109448, 0.013370219, 0.022043765,
             0.03634402, 0.059921164, 0.008109448, 0.013370219, 0.022043765, 0.03634402,
             0.059921164, 0.008109448, 0.013370219, 0.022043765, 0.03634402, 0.059921164,
             0.008109448, 0.013370219, 0.022043765, 0.03634402, 0.059921164, 0.008109448,
             0.013370219]]> : tensor<1x37xf32>},
        tensor<2x1xf32> {graph.name = "single", graph.expect =
      dense<1.0> : tensor<2x1xf32>},
        tensor<3x4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[0.11354961935990124, 0.00565330266221633, 0.8390245074625321,
             0.04177257051535046], [0.2594934032192181, 0.7053762025757965,
             1.1780982279980663e-5, 0.03511861322270542], [0.00014868871475924003,
             0.26883550283566526, 0.7307706622028389, 0.00024514624673662317]]> : tensor<3x4xf64>},
        tensor<3x4xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[0.1135, 0.005653, 0.839, 0.04178], [0.2595, 0.7056, 1.18e-5, 0.03513],
             [0.0001487, 0.2688, 0.731, 0.000245]]> : tensor<3x4xf16>},
        tensor<3x4xbf16> {graph.name = "brain", graph.tolerance = 0.02 : f64, graph.expect =
      dense<[[0.04614, 4.315e-5, 0.002472, 0.08984], [0.9258, 0.04736, 3.055e-7, 0.6641],
             [0.02795, 0.9531, 0.9961, 0.2451]]> : tensor<3x4xbf16>}) {
  // Along the last axis.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.softmax %x {axis = 2 : i64} : tensor<2x3x4xf32>

  // Along the middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.softmax %x {axis = 1 : i64} : tensor<2x3x4xf32>

  // Along the first axis.
  // CHECK: first: reference, unfused, fused agree
  %first = graph.softmax %x {axis = 0 : i64} : tensor<2x3x4xf32>

  // Large numbers don't overflow, far negative ones don't vanish.
  // CHECK: shifted: reference, unfused, fused agree
  %shifted = graph.softmax %big {axis = 1 : i64} : tensor<2x3xf32>

  // -infinity counts nothing; a NaN, an infinity, or nothing but -infinity gives NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.softmax %e {axis = 1 : i64} : tensor<4x3xf32>

  // A row of 37: whole vectors and a tail.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.softmax %long {axis = 1 : i64} : tensor<1x37xf32>

  // A single element has all the weight.
  // CHECK: single: reference, unfused, fused agree
  %single = graph.softmax %one {axis = 1 : i64} : tensor<2x1xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.softmax %d {axis = 1 : i64} : tensor<3x4xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.softmax %h {axis = 1 : i64} : tensor<3x4xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.softmax %b {axis = 0 : i64} : tensor<3x4xbf16>

  func.return %last, %middle, %first, %shifted, %edges, %tail, %single, %double, %half, %brain
    : tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3xf32>, tensor<4x3xf32>,
      tensor<1x37xf32>, tensor<2x1xf32>, tensor<3x4xf64>, tensor<3x4xf16>, tensor<3x4xbf16>
}
