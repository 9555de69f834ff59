// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x2x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 3.0, -2.0, 6.0], [5.0, 5.0, 5.0, 5.0]], [[0.0, 2.0, 10.0, -4.0], [1000.0, 1002.0, 1001.0, 1003.0]]]> : tensor<2x2x4xf32>},
    %d: tensor<2x4xf64> {graph.name = "d", graph.value =
      dense<[[0.5, 1.5, -1.0, 3.0], [2.5, 2.5, 2.5, 2.5]]> : tensor<2x4xf64>},
    %h: tensor<2x4xf16> {graph.name = "h", graph.value =
      dense<[[0.5, 1.5, -1.0, 3.0], [2.5, 2.5, 2.5, 2.5]]> : tensor<2x4xf16>},
    %k: tensor<2x4xbf16> {graph.name = "k", graph.value =
      dense<[[0.5, 1.5, -1.0, 3.0], [2.5, 2.5, 2.5, 2.5]]> : tensor<2x4xbf16>})
    -> (tensor<2x2x2x2xf32> {graph.name = "pairs", graph.expect =
      dense<[[[[2.0, 2.0], [2.0, 32.0]], [[5.0, 0.0], [5.0, 0.0]]], [[[1.0, 2.0], [3.0, 98.0]], [[1001.0, 2.0], [1002.0, 2.0]]]]> : tensor<2x2x2x2xf32>},
        tensor<2x2x1x2xf32> {graph.name = "whole", graph.expect =
      dense<[[[[2.0, 34.0]], [[5.0, 0.0]]], [[[2.0, 104.0]], [[1001.5, 5.0]]]]> : tensor<2x2x1x2xf32>},
        tensor<2x2x2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[1.0, 0.5], [1.0, 8.0]], [[2.5, 0.0], [2.5, 0.0]]]> : tensor<2x2x2xf64>},
        tensor<2x2x2xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[[1.0, 0.5], [1.0, 8.0]], [[2.5, 0.0], [2.5, 0.0]]]> : tensor<2x2x2xf16>},
        tensor<2x2x2xbf16> {graph.name = "brain", graph.tolerance = 0.02 : f64, graph.expect =
      dense<[[[1.0, 0.5], [1.0, 8.0]], [[2.5, 0.0], [2.5, 0.0]]]> : tensor<2x2x2xbf16>}) {
  // 1 and 3 have the mean 2, from which they deviate by 1; those of a thousand lose nothing.
  // CHECK: pairs: reference, unfused, fused agree
  %pairs = graph.row_moments %x {piece = 2 : i64} : (tensor<2x2x4xf32>) -> tensor<2x2x2x2xf32>

  // A row is one piece.
  // CHECK: whole: reference, unfused, fused agree
  %whole = graph.row_moments %x {piece = 4 : i64} : (tensor<2x2x4xf32>) -> tensor<2x2x1x2xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.row_moments %d {piece = 2 : i64} : (tensor<2x4xf64>) -> tensor<2x2x2xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.row_moments %h {piece = 2 : i64} : (tensor<2x4xf16>) -> tensor<2x2x2xf16>

  // bf16, computed in f32.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.row_moments %k {piece = 2 : i64} : (tensor<2x4xbf16>) -> tensor<2x2x2xbf16>

  func.return %pairs, %whole, %double, %half, %brain
    : tensor<2x2x2x2xf32>, tensor<2x2x1x2xf32>, tensor<2x2x2xf64>, tensor<2x2x2xf16>, tensor<2x2x2xbf16>
}
