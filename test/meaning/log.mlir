// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0,
             8.0, 9.0, 10.0, 16.0, 100.0]> : tensor<19xf32>},
    %e: tensor<7xf32> {graph.name = "e", graph.value =
      dense<[-1.0, -0.0, 0.0, 1.0e-30, 1.0e30, 0x7F800000, 0x7FC00000]> : tensor<7xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[0.0625, 0.125, 0.25, 0.5, 0.75]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[0.5, 1.0, 2.0, 10.0, 100.0]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[0.5, 1.0, 2.0, 10.0, 100.0]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[-2.7725887, -2.0794415, -1.3862944, -0.6931472, -0.2876821, 0.0, 0.22314355,
             0.4054651, 0.6931472, 0.91629076, 1.0986123, 1.3862944, 1.609438, 1.7917595,
             2.0794415, 2.1972246, 2.3025851, 2.7725887, 4.6051702]> : tensor<19xf32>},
        tensor<7xf32> {graph.name = "edges", graph.expect =
      dense<[0x7FC00000, 0xFF800000, 0xFF800000, -69.07755, 69.07755, 0x7F800000,
             0x7FC00000]> : tensor<7xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-2.772588722239781, -2.0794415416798357, -1.3862943611198906,
             -0.6931471805599453, -0.2876820724517809]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.6934, 0.0, 0.6934, 2.303, 4.605]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.6914, 0.0, 0.6914, 2.297, 4.594]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.log %x : tensor<19xf32>

  // NaN below zero, -infinity at zero.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.log %e : tensor<7xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.log %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.log %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.log %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<7xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
