// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-4.0, -3.0, -2.5, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 1.5,
             2.0, 2.5, 3.0, 4.0]> : tensor<19xf32>},
    %e: tensor<5xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -104.0, 89.0, 0x7F800000, 0x7FC00000]> : tensor<5xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-1.5, -0.001, -0.01, 0.5, 2.0]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-1.5, -0.001, -0.01, 0.5, 2.0]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-1.5, -0.001, -0.01, 0.5, 2.0]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-0.9816844, -0.95021296, -0.917915, -0.86466473, -0.77686983, -0.63212055, -0.5276334,
             -0.39346933, -0.22119921, 0.0, 0.28402543, 0.6487213, 1.117, 1.7182819, 3.481689,
             6.389056, 11.182494, 19.085537, 53.59815]> : tensor<19xf32>},
        tensor<5xf32> {graph.name = "edges", graph.tolerance = 3.0e-7 : f64, graph.expect =
      dense<[-1.0, -1.0, 0x7F800000, 0x7F800000, 0x7FC00000]> : tensor<5xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-14 : f64, graph.expect =
      dense<[-0.7768698398515702, -0.0009995001666250085, -0.009950166250831947, 0.6487212707001282,
             6.38905609893065]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.77685547, -0.0009994507, -0.0099487305, 0.6489258, 6.390625]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.77686983, -0.0009989514, -0.009959835, 0.6487213, 6.389056]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.expm1 %x : tensor<19xf32>

  // Far below zero the result is -1; from 88.73 on it is infinite. NaN stays NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.expm1 %e : tensor<5xf32>

  // Double precision, to fourteen digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.expm1 %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.expm1 %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.expm1 %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<5xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
