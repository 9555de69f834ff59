// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<7xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -100.0, -80.0, 30.0, 100.0, 0x7F800000, 0x7FC00000]> : tensor<7xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[0.01798621, 0.047425874, 0.07585818, 0.11920292, 0.18242553, 0.26894143,
             0.32082132, 0.37754068, 0.4378235, 0.5, 0.5621765, 0.62245935, 0.6791787,
             0.7310586, 0.8175745, 0.8807971, 0.9241418, 0.95257413, 0.98201376]> : tensor<19xf32>},
        tensor<7xf32> {graph.name = "edges", graph.expect =
      dense<[0.0, 3.8e-44, 1.8048513e-35, 1.0, 1.0, 1.0, 0x7FC00000]> : tensor<7xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.017986209962091555, 0.04742587317756679, 0.07585818002124356,
             0.11920292202211755, 0.18242552380635632]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.01799, 0.04742, 0.07587, 0.1192, 0.1824]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.01794, 0.04736, 0.07568, 0.1191, 0.1826]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.sigmoid %x : tensor<19xf32>

  // Neither side overflows: 0 far below, 1 far above.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.sigmoid %e : tensor<7xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.sigmoid %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.sigmoid %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.sigmoid %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<7xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
