// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %t: tensor<1x7xi1> {graph.name = "t", graph.value =
      dense<[[true, false, true, true, false, false, true]]> : tensor<1x7xi1>},
    %c: tensor<3x1xi1> {graph.name = "c", graph.value =
      dense<[[true], [false], [true]]> : tensor<3x1xi1>},
    %v: tensor<19xi1> {graph.name = "v", graph.value =
      dense<[true, false, false, true, false, false, true, false, false, true, false,
             false, true, false, false, true, false, false, true]> : tensor<19xi1>},
    %w: tensor<19xi1> {graph.name = "w", graph.value =
      dense<[true, true, false, false, true, true, false, false, true, true, false, false,
             true, true, false, false, true, true, false]> : tensor<19xi1>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[12, -1, 5]> : tensor<3xi32>},
    %i2: tensor<3xi32> {graph.name = "i2", graph.value = dense<[10, 7, -2]> : tensor<3xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value = dense<[1099511627777, -1]> : tensor<2xi64>},
    %l2: tensor<2xi64> {graph.name = "l2", graph.value =
      dense<[1099511627776, 8589934592]> : tensor<2xi64>},
    %u: tensor<2xui8> {graph.name = "u", graph.value = dense<[240, 15]> : tensor<2xui8>},
    %u2: tensor<2xui8> {graph.name = "u2", graph.value = dense<[60, 240]> : tensor<2xui8>})
    -> (tensor<3x7xi1> {graph.name = "truth", graph.expect =
      dense<[[true, true, true, true, true, true, true],
             [true, false, true, true, false, false, true],
             [true, true, true, true, true, true, true]]> : tensor<3x7xi1>},
        tensor<19xi1> {graph.name = "vectors", graph.expect =
      dense<[true, true, false, true, true, true, true, false, true, true, false, false,
             true, true, false, true, true, true, true]> : tensor<19xi1>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[14, -1, -1]> : tensor<3xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect =
      dense<[1099511627777, -1]> : tensor<2xi64>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[252, 255]> : tensor<2xui8>}) {
  // A row of truth values against a column.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.or %t, %c : (tensor<1x7xi1>, tensor<3x1xi1>) -> tensor<3x7xi1>

  // A full vector and a tail.
  // CHECK: vectors: reference, unfused, fused agree
  %vectors = graph.or %v, %w : tensor<19xi1>

  // Bit by bit: 12 is 1100, 10 is 1010; negative numbers in two's complement.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.or %i, %i2 : tensor<3xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.or %l, %l2 : tensor<2xi64>

  // Unsigned.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.or %u, %u2 : tensor<2xui8>

  func.return %truth, %vectors, %ints, %longs, %unsigned
    : tensor<3x7xi1>, tensor<19xi1>, tensor<3xi32>, tensor<2xi64>, tensor<2xui8>
}
