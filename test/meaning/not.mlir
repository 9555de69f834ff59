// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %t: tensor<19xi1> {graph.name = "t", graph.value =
      dense<[true, false, true, true, false, true, true, false, true, true, false, true,
             true, false, true, true, false, true, false]> : tensor<19xi1>},
    %i: tensor<4xi32> {graph.name = "i", graph.value = dense<[0, -1, 5, 2147483647]> : tensor<4xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value = dense<[0, 4294967295]> : tensor<2xi64>},
    %u: tensor<3xui8> {graph.name = "u", graph.value = dense<[0, 255, 170]> : tensor<3xui8>},
    %c: tensor<2xi8> {graph.name = "c", graph.value = dense<[0, 127]> : tensor<2xi8>})
    -> (tensor<19xi1> {graph.name = "truth", graph.expect =
      dense<[false, true, false, false, true, false, false, true, false, false, true,
             false, false, true, false, false, true, false, true]> : tensor<19xi1>},
        tensor<4xi32> {graph.name = "ints", graph.expect =
      dense<[-1, 0, -6, -2147483648]> : tensor<4xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect =
      dense<[-1, -4294967296]> : tensor<2xi64>},
        tensor<3xui8> {graph.name = "unsigned", graph.expect = dense<[255, 0, 85]> : tensor<3xui8>},
        tensor<2xi8> {graph.name = "bytes", graph.expect = dense<[-1, -128]> : tensor<2xi8>}) {
  // A full vector and a tail of truth values.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.not %t : tensor<19xi1>

  // The bits of an integer: ~x = -x - 1.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.not %i : tensor<4xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.not %l : tensor<2xi64>

  // Unsigned: 255 - x.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.not %u : tensor<3xui8>

  // 8 bits.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.not %c : tensor<2xi8>

  func.return %truth, %ints, %longs, %unsigned, %bytes
    : tensor<19xi1>, tensor<4xi32>, tensor<2xi64>, tensor<3xui8>, tensor<2xi8>
}
