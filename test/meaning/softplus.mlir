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
      dense<[0.018149927, 0.048587352, 0.078889735, 0.12692802, 0.20141327, 0.3132617,
             0.386871, 0.474077, 0.5759394, 0.6931472, 0.8259394, 0.974077, 1.136871,
             1.3132616, 1.7014133, 2.126928, 2.5788898, 3.0485873, 4.01815]> : tensor<19xf32>},
        tensor<7xf32> {graph.name = "edges", graph.expect =
      dense<[0.0, 3.8e-44, 1.8048513e-35, 30.0, 100.0, 0x7F800000, 0x7FC00000]> : tensor<7xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.018149927917809738, 0.04858735157374206, 0.07888973429254963,
             0.1269280110429725, 0.2014132779827524]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.01814, 0.04858, 0.0789, 0.127, 0.2014]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.01819, 0.04858, 0.0791, 0.127, 0.2012]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.softplus %x : tensor<19xf32>

  // Far below it is exp(x), almost 0; far above it is x and does not overflow.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.softplus %e : tensor<7xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.softplus %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.softplus %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.softplus %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<7xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
