// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[3.1415927, 100.0, 1000.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[0.7568025, -0.14112, -0.5984721, -0.9092974, -0.997495, -0.84147096,
             -0.6816388, -0.47942555, -0.24740396, 0.0, 0.24740396, 0.47942555, 0.6816388,
             0.84147096, 0.997495, 0.9092974, 0.5984721, 0.14112, -0.7568025]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[-8.742278e-8, -0.50636566, 0.82687956, 0x7FC00000, 0x7FC00000, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.7568024953079282, -0.1411200080598672, -0.5984721441039565,
             -0.9092974268256817, -0.9974949866040544]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.757, -0.1411, -0.5986, -0.909, -0.9976]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.7578, -0.1416, -0.5977, -0.9102, -0.9961]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.sin %x : tensor<19xf32>

  // Arguments of many turns; NaN at infinity.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.sin %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.sin %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.sin %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.sin %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
