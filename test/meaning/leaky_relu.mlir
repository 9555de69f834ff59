// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<4xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -0.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-0.4, -0.3, -0.25, -0.2, -0.15, -0.1, -0.075, -0.05, -0.025, 0.0, 0.25, 0.5,
             0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
        tensor<4xf32> {graph.name = "edges", graph.expect =
      dense<[0xFF800000, -0.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.4, -0.30000000000000004, -0.25, -0.2, -0.15000000000000002]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.4, -0.3, -0.25, -0.2, -0.15]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.4004, -0.3008, -0.25, -0.2002, -0.1504]> : tensor<5xbf16>}) {
  // A tenth of what is below zero.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.leaky_relu %x {alpha = 0.1 : f64} : tensor<19xf32>

  // NaN stays NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.leaky_relu %e {alpha = 0.1 : f64} : tensor<4xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.leaky_relu %d {alpha = 0.1 : f64} : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.leaky_relu %h {alpha = 0.1 : f64} : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.leaky_relu %b {alpha = 0.1 : f64} : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<4xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
