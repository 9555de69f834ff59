// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0,
             8.0, 9.0, 10.0, 16.0, 100.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[-1.0, 0.0, 1.0e-30, 1.0e30, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[4.0, 2.828427, 2.0, 1.4142135, 1.1547005, 1.0, 0.8944272, 0.8164966,
             0.70710677, 0.6324555, 0.57735026, 0.5, 0.4472136, 0.4082483, 0.35355338,
             0.33333334, 0.31622776, 0.25, 0.1]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[0x7FC00000, 0x7F800000, 1.0e15, 1.0e-15, 0.0, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[4.0, 2.82842712474619, 2.0, 1.414213562373095, 1.1547005383792517]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[4.0, 2.828, 2.0, 1.414, 1.154]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[4.0, 2.828, 2.0, 1.414, 1.156]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.rsqrt %x : tensor<19xf32>

  // NaN below zero, infinite at zero, 0 at infinity.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.rsqrt %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.rsqrt %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.rsqrt %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.rsqrt %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
