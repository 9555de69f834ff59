// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<5xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -1.0e30, 1.0e30, 0x7F800000, 0x7FC00000]> : tensor<5xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[0.0, 0.0, 0.0, 0.0, 0.125, 0.25, 0.3125, 0.375, 0.4375, 0.5, 0.5625, 0.625,
             0.6875, 0.75, 0.875, 1.0, 1.0, 1.0, 1.0]> : tensor<19xf32>},
        tensor<5xf32> {graph.name = "edges", graph.expect =
      dense<[0.0, 0.0, 1.0, 1.0, 0x7FC00000]> : tensor<5xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.0, 0.0, 0.0, 0.0, 0.125]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.0, 0.0, 0.0, 0.0, 0.125]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.0, 0.0, 0.0, 0.0, 0.125]> : tensor<5xbf16>}) {
  // x / 4 + 1/2, cut off at 0 and 1: from -2 to 2 it rises.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.hard_sigmoid %x {alpha = 0.25 : f64, beta = 0.5 : f64} : tensor<19xf32>

  // NaN stays NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.hard_sigmoid %e {alpha = 0.25 : f64, beta = 0.5 : f64} : tensor<5xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.hard_sigmoid %d {alpha = 0.25 : f64, beta = 0.5 : f64} : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.hard_sigmoid %h {alpha = 0.25 : f64, beta = 0.5 : f64} : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.hard_sigmoid %b {alpha = 0.25 : f64, beta = 0.5 : f64} : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<5xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
