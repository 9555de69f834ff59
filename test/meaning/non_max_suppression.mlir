// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %b: tensor<1x4x4xf32> {graph.name = "b", graph.value =
      dense<[[[0.0, 0.0, 2.0, 2.0], [2.0, 3.0, 0.0, 1.0], [4.0, 4.0, 5.0, 5.0], [0.0, 0.0, 2.0, 1.5]]]>
        : tensor<1x4x4xf32>},
    %s: tensor<1x2x4xf32> {graph.name = "s", graph.value =
      dense<[[[0.5, 0.5, 0.25, 0.75], [0x7FC00000, 0x7F800000, 0xFF800000, 0.0]]]> : tensor<1x2x4xf32>},
    %c: tensor<1x2x4xf32> {graph.name = "c", graph.value = dense<[[[1.0, 1.0, 2.0, 2.0], [2.0, 1.0, 2.0, 2.0]]]>
      : tensor<1x2x4xf32>},
    %t: tensor<1x1x2xf32> {graph.name = "t", graph.value = dense<[[[0.5, 1.0]]]> : tensor<1x1x2xf32>},
    %m: tensor<i64> {graph.name = "m", graph.value = dense<2> : tensor<i64>},
    %o: tensor<f32> {graph.name = "o", graph.value = dense<0.33> : tensor<f32>},
    %l: tensor<f32> {graph.name = "l", graph.value = dense<0.0> : tensor<f32>})
    -> (tensor<1x2x3xi64> {graph.name = "chosen", graph.expect = dense<[[[3, 1, 0], [1, 3, 0]]]> : tensor<1x2x3xi64>},
        tensor<1x2xi64> {graph.name = "counts", graph.expect = dense<[[2, 2]]> : tensor<1x2xi64>},
        tensor<1x2x3xi64> {graph.name = "above", graph.expect = dense<[[[3, 1, 0], [1, 0, 0]]]> : tensor<1x2x3xi64>},
        tensor<1x2xi64> {graph.name = "few", graph.expect = dense<[[2, 1]]> : tensor<1x2xi64>},
        tensor<1x1x1xi64> {graph.name = "centers", graph.expect = dense<[[[1]]]> : tensor<1x1x1xi64>},
        tensor<1x1xi64> {graph.name = "one", graph.expect = dense<[[1]]> : tensor<1x1xi64>}) {
  // Box 3 has the best score; it shares 3 of 4 with box 0, and 1 of 6 with box 1, whose corners are the other two. NaN
  // never takes part; two are chosen at most.
  // CHECK: chosen: reference, unfused, fused agree
  // CHECK: counts: reference, unfused, fused agree
  %chosen, %counts = graph.non_max_suppression %b, %s, %m, %o {rows = 3 : i64}
    : (tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<i64>, tensor<f32>) -> (tensor<1x2x3xi64>, tensor<1x2xi64>)

  // Only scores above the least take part.
  // CHECK: above: reference, unfused, fused agree
  // CHECK: few: reference, unfused, fused agree
  %above, %few = graph.non_max_suppression %b, %s, %m, %o, %l {rows = 3 : i64}
    : (tensor<1x4x4xf32>, tensor<1x2x4xf32>, tensor<i64>, tensor<f32>, tensor<f32>)
      -> (tensor<1x2x3xi64>, tensor<1x2xi64>)

  // Centres and sizes; no more than there is room for.
  // CHECK: centers: reference, unfused, fused agree
  // CHECK: one: reference, unfused, fused agree
  %centers, %one = graph.non_max_suppression %c, %t, %m, %o {centered, rows = 1 : i64}
    : (tensor<1x2x4xf32>, tensor<1x1x2xf32>, tensor<i64>, tensor<f32>) -> (tensor<1x1x1xi64>, tensor<1x1xi64>)

  func.return %chosen, %counts, %above, %few, %centers, %one
    : tensor<1x2x3xi64>, tensor<1x2xi64>, tensor<1x2x3xi64>, tensor<1x2xi64>, tensor<1x1x1xi64>, tensor<1x1xi64>
}
