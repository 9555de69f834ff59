// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<4xf32> {graph.name = "e", graph.value =
      dense<[-1.0e30, 1.0e-20, 1.0e30, 0x7FC00000]> : tensor<4xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-0.8, -0.75, -0.71428573, -0.6666667, -0.6, -0.5, -0.42857143, -0.33333334,
             -0.2, 0.0, 0.2, 0.33333334, 0.42857143, 0.5, 0.6, 0.6666667, 0.71428573, 0.75,
             0.8]> : tensor<19xf32>},
        tensor<4xf32> {graph.name = "edges", graph.expect =
      dense<[-1.0, 1.0e-20, 1.0, 0x7FC00000]> : tensor<4xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.8, -0.75, -0.7142857142857143, -0.6666666666666666, -0.6]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.8, -0.75, -0.7144, -0.6665, -0.6]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.8008, -0.75, -0.7148, -0.668, -0.6016]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.softsign %x : tensor<19xf32>

  // Far out it is -1 or 1.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.softsign %e : tensor<4xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.softsign %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.softsign %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.softsign %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<4xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
