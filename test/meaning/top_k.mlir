// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x5xf32> {graph.name = "x", graph.value =
      dense<[[3.0, 1.0, 3.0, -2.0, 7.0], [0.0, -0.0, -1.0, -1.0, 0.0]]> : tensor<2x5xf32>},
    %n: tensor<1x5xf32> {graph.name = "n", graph.value =
      dense<[[1.0, 0x7FC00000, 0x7F800000, 0xFF800000, 0xFFC00000]]> : tensor<1x5xf32>},
    %t: tensor<1x3x2xf64> {graph.name = "t", graph.value =
      dense<[[[1.0, 6.0], [3.0, 5.0], [2.0, 4.0]]]> : tensor<1x3x2xf64>},
    %l: tensor<3xi64> {graph.name = "l", graph.value =
      dense<[9007199254740992, 9007199254740993, 9007199254740991]> : tensor<3xi64>},
    %c: tensor<3xi8> {graph.name = "c", graph.value = dense<[1, -56, 127]> : tensor<3xi8>},
    %u: tensor<3xui8> {graph.name = "u", graph.value = dense<[1, 200, 127]> : tensor<3xui8>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[0.5, 2.0, -1.0]> : tensor<3xf16>},
    %b: tensor<3xbf16> {graph.name = "b", graph.value = dense<[0.5, 2.0, -1.0]> : tensor<3xbf16>})
    -> (tensor<2x3xi64> {graph.name = "largest", graph.expect = dense<[[4, 0, 2], [0, 1, 4]]> : tensor<2x3xi64>},
        tensor<2x3xi64> {graph.name = "smallest", graph.expect = dense<[[3, 1, 0], [2, 3, 0]]> : tensor<2x3xi64>},
        tensor<1x5xi64> {graph.name = "all", graph.expect = dense<[[1, 4, 2, 0, 3]]> : tensor<1x5xi64>},
        tensor<1x5xi64> {graph.name = "up", graph.expect = dense<[[3, 0, 2, 1, 4]]> : tensor<1x5xi64>},
        tensor<1x2x2xi64> {graph.name = "across", graph.expect = dense<[[[1, 0], [2, 1]]]> : tensor<1x2x2xi64>},
        tensor<2x0xi64> {graph.name = "none", graph.expect = dense<> : tensor<2x0xi64>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[1, 0, 2]> : tensor<3xi64>},
        tensor<3xi64> {graph.name = "bytes", graph.expect = dense<[2, 0, 1]> : tensor<3xi64>},
        tensor<3xi64> {graph.name = "unsigned", graph.expect = dense<[1, 2, 0]> : tensor<3xi64>},
        tensor<3xi64> {graph.name = "half", graph.expect = dense<[1, 0, 2]> : tensor<3xi64>},
        tensor<3xi64> {graph.name = "brain", graph.expect = dense<[2, 0, 1]> : tensor<3xi64>}) {
  // Of equal elements, which zeros of any sign are, the first comes first.
  // CHECK: largest: reference, unfused, fused agree
  %largest = graph.top_k %x {axis = 1 : i64, count = 3 : i64} : (tensor<2x5xf32>) -> tensor<2x3xi64>

  // From below, too.
  // CHECK: smallest: reference, unfused, fused agree
  %smallest = graph.top_k %x {axis = 1 : i64, count = 3 : i64, smallest} : (tensor<2x5xf32>) -> tensor<2x3xi64>

  // NaN is larger than infinity, whatever its sign.
  // CHECK: all: reference, unfused, fused agree
  %all = graph.top_k %n {axis = 1 : i64, count = 5 : i64} : (tensor<1x5xf32>) -> tensor<1x5xi64>

  // So it comes last from below.
  // CHECK: up: reference, unfused, fused agree
  %up = graph.top_k %n {axis = 1 : i64, count = 5 : i64, smallest} : (tensor<1x5xf32>) -> tensor<1x5xi64>

  // Along a middle axis.
  // CHECK: across: reference, unfused, fused agree
  %across = graph.top_k %t {axis = 1 : i64, count = 2 : i64} : (tensor<1x3x2xf64>) -> tensor<1x2x2xi64>

  // None of them.
  // CHECK: none: reference, unfused, fused agree
  %none = graph.top_k %x {axis = 1 : i64, count = 0 : i64} : (tensor<2x5xf32>) -> tensor<2x0xi64>

  // Neighbours that an f64 can't tell apart.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.top_k %l {axis = 0 : i64, count = 3 : i64} : (tensor<3xi64>) -> tensor<3xi64>

  // Bytes with a sign.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.top_k %c {axis = 0 : i64, count = 3 : i64} : (tensor<3xi8>) -> tensor<3xi64>

  // Bytes without one.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.top_k %u {axis = 0 : i64, count = 3 : i64} : (tensor<3xui8>) -> tensor<3xi64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.top_k %h {axis = 0 : i64, count = 3 : i64} : (tensor<3xf16>) -> tensor<3xi64>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.top_k %b {axis = 0 : i64, count = 3 : i64, smallest} : (tensor<3xbf16>) -> tensor<3xi64>

  func.return %largest, %smallest, %all, %up, %across, %none, %longs, %bytes, %unsigned, %half, %brain
    : tensor<2x3xi64>, tensor<2x3xi64>, tensor<1x5xi64>, tensor<1x5xi64>, tensor<1x2x2xi64>, tensor<2x0xi64>,
      tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
}
