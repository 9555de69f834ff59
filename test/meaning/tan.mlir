// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[0.7853982, 100.0, 1000.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.tolerance = 2.0e-6 : f64, graph.expect =
      dense<[-1.1578213, 0.14254655, 0.7470223, 2.1850398, -14.10142, -1.5574077,
             -0.93159646, -0.5463025, -0.25534192, 0.0, 0.25534192, 0.5463025, 0.93159646,
             1.5574077, 14.10142, -2.1850398, -0.7470223, -0.14254655, 1.1578213]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.tolerance = 2.0e-6 : f64, graph.expect =
      dense<[1.0, -0.58721393, 1.4703242, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-1.1578212823495775, 0.1425465430742778, 0.7470222972386603,
             2.185039863261519, -14.101419947171719]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-1.158, 0.1426, 0.747, 2.186, -14.1]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-1.156, 0.1426, 0.7461, 2.188, -14.12]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.tan %x : tensor<19xf32>

  // Arguments of many turns; NaN at infinity.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.tan %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.tan %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.tan %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.tan %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
