// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<5x2xf32> {graph.name = "x", graph.value =
      dense<[[0.5, 2.0], [0.6, 2.0], [0x7FC00000, 0.0], [-1.0, 3.0], [0x7F800000, -5.0]]> : tensor<5x2xf32>},
    %n: tensor<1x1x4x2xi32> {graph.name = "n", graph.value =
      dense<[[[[0, 0], [0, 1056964608], [1, 1073741824], [1, -1082130432]]]]> : tensor<1x1x4x2xi32>},
    %w: tensor<1x1x4x1xf32> {graph.name = "w", graph.value =
      dense<[[[[1.0], [2.0], [4.0], [8.0]]]]> : tensor<1x1x4x1xf32>},
    %t: tensor<1x1x3x3xi32> {graph.name = "t", graph.value =
      dense<[[[[0, 1056964608, -4], [1, 1073741824, -2], [1, -1082130432, -5]]]]> : tensor<1x1x3x3xi32>},
    %x64: tensor<3x2xf64> {graph.name = "x64", graph.value =
      dense<[[0.0, 1.0], [-1.0, 2.0], [0x7FF8000000000000, 0x7FF8000000000000]]> : tensor<3x2xf64>},
    %n64: tensor<5x4xi64> {graph.name = "n64", graph.value =
      dense<[[1, 4609434218613702656, 1, 2], [0, -4620693217682128896, 3, 4], [0, 0, 2, 2], [0, 0, 3, 3],
             [0, 0, 4, 4]]> : tensor<5x4xi64>},
    %w64: tensor<3x2xf64> {graph.name = "w64", graph.value =
      dense<[[1.0, -1.0], [2.0, 5.0], [-3.0, 7.0]]> : tensor<3x2xf64>},
    %r: tensor<1x2xi64> {graph.name = "r", graph.value = dense<[[0, 1]]> : tensor<1x2xi64>})
    -> (tensor<1x5x1xf32> {graph.name = "complete", graph.expect =
      dense<[[[1.0], [8.0], [8.0], [2.0], [4.0]]]> : tensor<1x5x1xf32>},
        tensor<1x5x1xf32> {graph.name = "tested", graph.expect =
      dense<[[[1.0], [8.0], [8.0], [2.0], [4.0]]]> : tensor<1x5x1xf32>},
        tensor<1x3x2xf64> {graph.name = "linked", graph.expect =
      dense<[[[-3.0, 7.0], [2.0, 5.0], [1.0, 7.0]]]> : tensor<1x3x2xf64>},
        tensor<1x5x1xf32> {graph.name = "no_tree", graph.expect =
      dense<0x7F800000> : tensor<1x5x1xf32>}) {
  // x0 <= 0.5 asks for x1 <= 2, else for x1 <= -1; a threshold itself goes left, NaN and infinity go right.
  // CHECK: complete: reference, unfused, fused agree
  %complete = graph.tree_ensemble %x, %n, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, trees = 1 : i64, depth = 2 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x1x4x2xi32>, tensor<1x1x4x1xf32>) -> tensor<1x5x1xf32>

  // The same tree has tests: each mask is without the leaves on its node's left.
  // CHECK: tested: reference, unfused, fused agree
  %tested = graph.tree_ensemble %x, %n, %w, %t {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, trees = 1 : i64, depth = 2 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x1x4x2xi32>, tensor<1x1x4x1xf32>, tensor<1x1x3x3xi32>) -> tensor<1x5x1xf32>

  // The second tree begins at the first one's second node: of each weight the greater is kept.
  // CHECK: linked: reference, unfused, fused agree
  %linked = graph.tree_ensemble %x64, %n64, %w64, %r {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0>, trees = 2 : i64, depth = 2 : i64, aggregate = "max"} : (tensor<3x2xf64>, tensor<5x4xi64>, tensor<3x2xf64>, tensor<1x2xi64>) -> tensor<1x3x2xf64>

  // All trees are padding: the minimum of nothing.
  // CHECK: no_tree: reference, unfused, fused agree
  %no_tree = graph.tree_ensemble %x, %n, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, trees = 0 : i64, depth = 2 : i64, aggregate = "min"} : (tensor<5x2xf32>, tensor<1x1x4x2xi32>, tensor<1x1x4x1xf32>) -> tensor<1x5x1xf32>

  func.return %complete, %tested, %linked, %no_tree : tensor<1x5x1xf32>, tensor<1x5x1xf32>, tensor<1x3x2xf64>, tensor<1x5x1xf32>
}
