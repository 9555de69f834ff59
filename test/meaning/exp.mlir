// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<7xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -104.0, -80.0, 80.0, 89.0, 0x7F800000, 0x7FC00000]> : tensor<7xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[0.01831564, 0.049787067, 0.082085, 0.13533528, 0.22313017, 0.36787945,
             0.47236654, 0.60653067, 0.7788008, 1.0, 1.2840254, 1.6487212, 2.117, 2.7182817,
             4.481689, 7.389056, 12.182494, 20.085537, 54.59815]> : tensor<19xf32>},
        tensor<7xf32> {graph.name = "edges", graph.expect =
      dense<[0.0, 0.0, 1.8048513e-35, 5.5406225e34, 0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<7xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.01831563888873418, 0.049787068367863944, 0.0820849986238988,
             0.1353352832366127, 0.22313016014842982]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.01831, 0.04977, 0.0821, 0.1354, 0.2231]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.01831, 0.0498, 0.08203, 0.1357, 0.2227]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.exp %x : tensor<19xf32>

  // Far below zero the result is 0 or tiny; from 88.73 on it is infinite. NaN stays NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.exp %e : tensor<7xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.exp %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.exp %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.exp %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<7xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
