// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, -0.25, -0.5,
             -0.75, -0.125, 0.125]> : tensor<19xf32>},
    %e: tensor<6xf32> {graph.name = "e", graph.value =
      dense<[0xFF800000, -2.0, -1.0, 3.0e+38, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
    %d: tensor<5xf64> {graph.name = "d", graph.value =
      dense<[-0.5, -0.001, 0.01, 0.5, 2.0]> : tensor<5xf64>},
    %h: tensor<5xf16> {graph.name = "h", graph.value =
      dense<[-0.5, -0.001, 0.01, 0.5, 2.0]> : tensor<5xf16>},
    %b: tensor<5xbf16> {graph.name = "b", graph.value =
      dense<[-0.5, -0.001, 0.01, 0.5, 2.0]> : tensor<5xbf16>})
    -> (tensor<19xf32> {graph.name = "plain", graph.expect =
      dense<[0.0, 0.22314355, 0.4054651, 0.5596158, 0.6931472, 0.91629076, 1.0986123, 1.2527629,
             1.3862944, 1.609438, 1.7917595, 1.9459101, 2.0794415, 2.1972246, -0.2876821,
             -0.6931472, -1.3862944, -0.13353139, 0.11778303]> : tensor<19xf32>},
        tensor<6xf32> {graph.name = "edges", graph.tolerance = 3.0e-7 : f64, graph.expect =
      dense<[0x7FC00000, 0x7FC00000, 0xFF800000, 88.59685, 0x7F800000, 0x7FC00000]> : tensor<6xf32>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-14 : f64, graph.expect =
      dense<[-0.6931471805599453, -0.0010005003335835335, 0.009950330853168083, 0.4054651081081644,
             1.0986122886681096]> : tensor<5xf64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.6933594, -0.001001358, 0.0099487305, 0.40551758, 1.0986328]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.6931472, -0.0009999505, 0.0099599995, 0.4054651, 1.0986123]> : tensor<5xbf16>}) {
  // A full vector and a tail of three.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.log1p %x : tensor<19xf32>

  // At -1 it is -infinity, below it is no number.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.log1p %e : tensor<6xf32>

  // Double precision, to fourteen digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.log1p %d : tensor<5xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.log1p %h : tensor<5xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.log1p %b : tensor<5xbf16>

  func.return %plain, %edges, %double, %half, %brain
    : tensor<19xf32>, tensor<6xf32>, tensor<5xf64>, tensor<5xf16>, tensor<5xbf16>
}
