// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<4x2xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]> : tensor<4x2xf32>})
    -> (tensor<2x2xf32> {graph.name = "last", graph.expect =
          dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>}) {
  %two = arith.constant 2 : index

  // Two rows from number 2 on.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.extract_rows %x, %two {axis = 0 : i64, size = 2 : i64} : (tensor<4x2xf32>, index) -> tensor<2x2xf32>
  func.return %last : tensor<2x2xf32>
}
