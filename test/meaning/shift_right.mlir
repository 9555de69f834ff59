// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<6xi8> {graph.name = "x", graph.value = dense<[1, -1, -1, -4, 4, 100]> : tensor<6xi8>},
    %n: tensor<6xi8> {graph.name = "n", graph.value = dense<[1, 1, 7, 8, 127, -1]> : tensor<6xi8>},
    %u: tensor<5xui8> {graph.name = "u", graph.value = dense<[1, 255, 255, 255, 200]> : tensor<5xui8>},
    %m: tensor<5xui8> {graph.name = "m", graph.value = dense<[1, 1, 7, 8, 255]> : tensor<5xui8>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[1, -5, -2147483648]> : tensor<3xi32>},
    %j: tensor<1xi32> {graph.name = "j", graph.value = dense<31> : tensor<1xi32>},
    %l: tensor<3xi64> {graph.name = "l", graph.value = dense<[1, -1, 1]> : tensor<3xi64>},
    %k: tensor<3xi64> {graph.name = "k", graph.value = dense<[63, 64, 40]> : tensor<3xi64>})
    -> (tensor<6xi8> {graph.name = "signed", graph.expect = dense<[0, -1, -1, -1, 0, 0]> : tensor<6xi8>},
        tensor<5xui8> {graph.name = "unsigned", graph.expect = dense<[0, 127, 1, 0, 0]> : tensor<5xui8>},
        tensor<3xi32> {graph.name = "each", graph.expect = dense<[0, -1, -1]> : tensor<3xi32>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[0, -1, 0]> : tensor<3xi64>}) {
  // Copies of the sign move in, all of them for a count that is negative or too large.
  // CHECK: signed: reference, unfused, fused agree
  %signed = graph.shift_right %x, %n : tensor<6xi8>

  // Zeros move into what has no sign.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.shift_right %u, %m : tensor<5xui8>

  // One count for all.
  // CHECK: each: reference, unfused, fused agree
  %each = graph.shift_right %i, %j : (tensor<3xi32>, tensor<1xi32>) -> tensor<3xi32>

  // Of 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.shift_right %l, %k : tensor<3xi64>

  func.return %signed, %unsigned, %each, %longs : tensor<6xi8>, tensor<5xui8>, tensor<3xi32>, tensor<3xi64>
}
