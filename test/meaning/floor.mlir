// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-2.7, -2.5, -2.3, -2.0, -1.5, -0.5, -0.2, 0.0, 0.2, 0.5, 0.7, 1.0, 1.5, 2.3,
             2.5, 3.5, 4.5, 5.5, 6.7]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -8388609.0, 1.0e30, 4194304.5, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-2.7, -2.5, -2.3, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-2.7, -2.5, -2.3, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-2.703, -2.5, -2.297, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-3.0, -3.0, -3.0, -2.0, -2.0, -1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 2.0,
             2.0, 3.0, 4.0, 5.0, 6.0]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[0xFF800000, -8388609.0, 1.0e30, 4194304.0, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-3.0, -3.0, -3.0, -2.0, -2.0]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-3.0, -3.0, -3.0, -2.0, -2.0]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-3.0, -3.0, -3.0, -2.0, -2.0]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.floor %x : tensor<19xf32>

  // Numbers too large for a fraction, and those that are none, stay.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.floor %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.floor %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.floor %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.floor %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
