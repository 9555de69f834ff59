// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x2x2xi64> {graph.name = "x", graph.value =
      dense<[[[7, 9], [8, 0]], [[0, 0], [5, 6]]]> : tensor<2x2x2xi64>},
    %n: tensor<2x2xi64> {graph.name = "n", graph.value = dense<[[2, 1], [0, 2]]> : tensor<2x2xi64>})
    -> (tensor<8x3xi64> {graph.name = "rows", graph.expect =
          dense<[[0, 0, 7], [0, 0, 9], [0, 1, 8], [1, 1, 5], [1, 1, 6], [0, 0, 0], [0, 0, 0], [0, 0, 0]]>
            : tensor<8x3xi64>},
        tensor<i64> {graph.name = "total", graph.expect = dense<5> : tensor<i64>}) {
  // The first two of the first row, the first of the second, none of the third.
  // CHECK: rows: reference, unfused, fused agree
  // CHECK: total: reference, unfused, fused agree
  %rows, %total = graph.chosen_rows %x, %n : (tensor<2x2x2xi64>, tensor<2x2xi64>) -> (tensor<8x3xi64>, tensor<i64>)

  func.return %rows, %total : tensor<8x3xi64>, tensor<i64>
}
