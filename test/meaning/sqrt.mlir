// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0,
             8.0, 9.0, 10.0, 16.0, 100.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[-1.0, -0.0, 1.0e-30, 1.0e30, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[0.25, 0.35355338, 0.5, 0.70710677, 0.8660254, 1.0, 1.118034, 1.2247449,
             1.4142135, 1.5811388, 1.7320508, 2.0, 2.236068, 2.4494898, 2.828427, 3.0,
             3.1622777, 4.0, 10.0]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[0x7FC00000, -0.0, 1.0e-15, 1.0e15, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.25, 0.3535533905932738, 0.5, 0.7071067811865476, 0.8660254037844386]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.25, 0.3535, 0.5, 0.707, 0.866]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.25, 0.3535, 0.5, 0.707, 0.8672]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.sqrt %x : tensor<19xf32>

  // NaN below zero; the root of -0.0 is -0.0.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.sqrt %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.sqrt %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.sqrt %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.sqrt %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
