// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %row: tensor<1x7xf32> {graph.name = "row", graph.value =
      dense<[[-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5]]> : tensor<1x7xf32>},
    %columns: tensor<3x1x1xf32> {graph.name = "columns", graph.value =
      dense<[[[2.0]], [[-0.5]], [[4.0]]]> : tensor<3x1x1xf32>},
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-3.0, -1.0, -0.5, 0.25, 1.0, 2.5, 7.0, -3.0, -1.0, -0.5, 0.25, 1.0, 2.5, 7.0,
             -3.0, -1.0, -0.5, 0.25, 1.0]> : tensor<19xf32>},
    %y: tensor<19xf32> {graph.name = "y", graph.value =
      dense<[2.0, 4.0, -0.5, 1.0, -2.0, 8.0, 0.5, 3.0, -1.0, 2.0, 4.0, -0.5, 1.0, -2.0,
             8.0, 0.5, 3.0, -1.0, 2.0]> : tensor<19xf32>},
    %one: tensor<f32> {graph.name = "one", graph.value = dense<2.0> : tensor<f32>},
    %a: tensor<4xf32> {graph.name = "a", graph.value =
      dense<[0x7FC00000, 0xFF800000, 0x7F800000, -0.0]> : tensor<4xf32>},
    %b: tensor<4xf32> {graph.name = "b", graph.value = dense<[2.0, 2.0, -3.0, 5.0]> : tensor<4xf32>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf64>},
    %d2: tensor<3xf64> {graph.name = "d2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf16>},
    %h2: tensor<3xf16> {graph.name = "h2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf16>},
    %m: tensor<3xbf16> {graph.name = "m", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xbf16>},
    %m2: tensor<3xbf16> {graph.name = "m2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xbf16>},
    %i: tensor<2xi32> {graph.name = "i", graph.value = dense<[4, -4]> : tensor<2xi32>},
    %i2: tensor<2xi32> {graph.name = "i2", graph.value = dense<3> : tensor<2xi32>})
    -> (tensor<3x1x7xf32> {graph.name = "broadcast", graph.expect =
      dense<[[[-6.0, -2.0, -1.0, 0.0, 0.25, 1.0, 2.5]],
             [[1.5, 0.5, 0.25, 0.0, 0.25, 1.0, 2.5]],
             [[-12.0, -4.0, -2.0, 0.0, 0.25, 1.0, 2.5]]]> : tensor<3x1x7xf32>},
        tensor<19xf32> {graph.name = "vectors", graph.expect =
      dense<[-6.0, -4.0, 0.25, 0.25, 1.0, 2.5, 7.0, -9.0, 1.0, -1.0, 0.25, 1.0, 2.5, 7.0,
             -24.0, -0.5, -1.5, 0.25, 1.0]> : tensor<19xf32>},
        tensor<19xf32> {graph.name = "scalar", graph.expect =
      dense<2.0> : tensor<19xf32>},
        tensor<4xf32> {graph.name = "edges", graph.expect =
      dense<[0x7FC00000, 0xFF800000, 0x7F800000, 0.0]> : tensor<4xf32>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-6.0, 0.5, 7.0]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-6.0, 0.5, 7.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-6.0, 0.5, 7.0]> : tensor<3xbf16>},
        tensor<2xi32> {graph.name = "ints", graph.expect = dense<[4, -12]> : tensor<2xi32>}) {
  // x where it is not negative, otherwise x times the slope; a slope per channel broadcasts.
  // CHECK: broadcast: reference, unfused, fused agree
  %broadcast = graph.prelu %row, %columns : (tensor<1x7xf32>, tensor<3x1x1xf32>) -> tensor<3x1x7xf32>

  // A full vector and a tail of three.
  // CHECK: vectors: reference, unfused, fused agree
  %vectors = graph.prelu %x, %y : tensor<19xf32>

  // A tensor of rank 0 goes with every element, also on the left.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.prelu %one, %x : (tensor<f32>, tensor<19xf32>) -> tensor<19xf32>

  // NaN stays NaN; -0.0 is not negative.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.prelu %a, %b : tensor<4xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.prelu %d, %d2 : tensor<3xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.prelu %h, %h2 : tensor<3xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.prelu %m, %m2 : tensor<3xbf16>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.prelu %i, %i2 : tensor<2xi32>

  func.return %broadcast, %vectors, %scalar, %edges, %double, %half, %brain, %ints
    : tensor<3x1x7xf32>, tensor<19xf32>, tensor<19xf32>, tensor<4xf32>, tensor<3xf64>, tensor<3xf16>,
      tensor<3xbf16>, tensor<2xi32>
}
