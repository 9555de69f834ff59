// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<18xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0,
             1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<18xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[0.0, -0.0, 0x7F800000, 0xFF800000, 1.0e-30, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<18xf32> {graph.name = "plain", graph.expect =
      dense<[-0.25, -0.33333334, -0.4, -0.5, -0.6666667, -1.0, -1.3333334, -2.0, -4.0, 4.0,
             2.0, 1.3333334, 1.0, 0.6666667, 0.5, 0.4, 0.33333334, 0.25]> : tensor<18xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[0x7F800000, 0xFF800000, 0.0, -0.0, 1.0e30, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.25, -0.3333333333333333, -0.4, -0.5, -0.6666666666666666]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.25, -0.3333, -0.4, -0.5, -0.6665]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.25, -0.334, -0.4004, -0.5, -0.668]> : tensor<5xbf16>}) {
  // A full vector and a tail of two.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.reciprocal %x : tensor<18xf32>

  // A zero's sign goes to the infinity.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.reciprocal %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.reciprocal %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.reciprocal %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.reciprocal %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<18xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
