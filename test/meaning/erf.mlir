// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75,
             1.0, 1.5, 2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -6.0, 1.0e-20, 6.0, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-1.0, -0.9999779, -0.999593, -0.9953223, -0.96610516, -0.8427008, -0.71115565,
             -0.5204999, -0.2763264, 0.0, 0.2763264, 0.5204999, 0.71115565, 0.8427008,
             0.96610516, 0.9953223, 0.999593, 0.9999779, 1.0]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.expect =
      dense<[-1.0, -1.0, 1.1283791e-20, 1.0, 1.0, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.9999999845827421, -0.9999779095030014, -0.999593047982555,
             -0.9953222650189527, -0.9661051464753108]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-1.0, -1.0, -0.9995, -0.995, -0.9663]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-1.0, -1.0, -1.0, -0.9961, -0.9648]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.erf %x : tensor<19xf32>

  // Near zero it is 2 / sqrt(pi) * x, from 4 on it is 1 in f32.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.erf %e : tensor<6xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.erf %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.erf %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.erf %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
