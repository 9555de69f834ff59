// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<1x4x2xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]]> : tensor<1x4x2xf32>},
    %one: tensor<1x1x2xf32> {graph.name = "one", graph.value = dense<[[[9.0, 10.0]]]> : tensor<1x1x2xf32>},
    %two: tensor<1x2x2xf32> {graph.name = "two", graph.value =
      dense<[[[9.0, 10.0], [11.0, 12.0]]]> : tensor<1x2x2xf32>},
    %u: tensor<2x3xui8> {graph.name = "u", graph.value = dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8>},
    %all: tensor<2x3xui8> {graph.name = "all", graph.value = dense<[[7, 8, 9], [10, 11, 12]]> : tensor<2x3xui8>})
    -> (tensor<1x4x2xf32> {graph.name = "slid", graph.expect =
          dense<[[[5.0, 6.0], [7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]]> : tensor<1x4x2xf32>},
        tensor<1x4x2xf32> {graph.name = "further", graph.expect =
          dense<[[[7.0, 8.0], [9.0, 10.0], [11.0, 12.0], [9.0, 10.0]]]> : tensor<1x4x2xf32>},
        tensor<2x3xui8> {graph.name = "columns", graph.expect =
          dense<[[7, 8, 9], [10, 11, 12]]> : tensor<2x3xui8>}) {
  // Two rows leave, two come.
  // CHECK: slid: reference, unfused, fused agree
  %slid = graph.slide %x, %two {axis = 1 : i64} : (tensor<1x4x2xf32>, tensor<1x2x2xf32>) -> tensor<1x4x2xf32>

  // One more.
  // CHECK: further: reference, unfused, fused agree
  %further = graph.slide %slid, %one {axis = 1 : i64} : (tensor<1x4x2xf32>, tensor<1x1x2xf32>) -> tensor<1x4x2xf32>

  // Of as many columns as there are, none is left.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.slide %u, %all {axis = 1 : i64} : tensor<2x3xui8>

  func.return %slid, %further, %columns : tensor<1x4x2xf32>, tensor<1x4x2xf32>, tensor<2x3xui8>
}
