// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -50.0, -1.0e-6, 0.0, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-1.9633688, -1.9004259, -1.83583, -1.7293295, -1.5537397, -1.2642411,
             -1.0552669, -0.78693867, -0.44239843, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5,
             3.0, 4.0]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[-2.0, -2.0, -1.999999e-6, 0.0, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-1.9633687222225316, -1.900425863264272, -1.8358300027522025,
             -1.7293294335267746, -1.5537396797031404]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-1.963, -1.9, -1.836, -1.7295, -1.554]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-1.961, -1.898, -1.836, -1.727, -1.555]> : tensor<5xbf16>}) {
  // 2 * (exp(x) - 1) below zero.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.elu %x {alpha = 2.0 : f64} : tensor<19xf32>

  // Far below it is -2; near zero nothing is lost.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.elu %e {alpha = 2.0 : f64} : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.elu %d {alpha = 2.0 : f64} : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.elu %h {alpha = 2.0 : f64} : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.elu %b {alpha = 2.0 : f64} : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
