// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %c: tensor<2x1xi1> {graph.name = "c", graph.value = dense<[[true], [false]]> : tensor<2x1xi1>},
    %a: tensor<3xf32> {graph.name = "a", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>},
    %b: tensor<2x1x1xf32> {graph.name = "b", graph.value =
      dense<[[[-1.0]], [[-2.0]]]> : tensor<2x1x1xf32>},
    %m: tensor<19xi1> {graph.name = "m", graph.value =
      dense<[true, false, false, true, false, false, true, false, false, true, false,
             false, true, false, false, true, false, false, true]> : tensor<19xi1>},
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0,
             14.0, 15.0, 16.0, 17.0, 18.0]> : tensor<19xf32>},
    %y: tensor<19xf32> {graph.name = "y", graph.value =
      dense<0x7FC00000> : tensor<19xf32>},
    %t: tensor<3xi1> {graph.name = "t", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %p: tensor<3xi1> {graph.name = "p", graph.value = dense<[true, true, false]> : tensor<3xi1>},
    %q: tensor<3xi1> {graph.name = "q", graph.value = dense<[false, false, true]> : tensor<3xi1>},
    %l: tensor<3xi64> {graph.name = "l", graph.value = dense<[1, 2, 3]> : tensor<3xi64>},
    %l2: tensor<3xi64> {graph.name = "l2", graph.value = dense<[100, 101, 102]> : tensor<3xi64>},
    %u: tensor<3xui8> {graph.name = "u", graph.value = dense<[1, 2, 3]> : tensor<3xui8>},
    %u2: tensor<3xui8> {graph.name = "u2", graph.value = dense<[100, 101, 102]> : tensor<3xui8>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>},
    %d2: tensor<3xf64> {graph.name = "d2", graph.value = dense<[100.0, 101.0, 102.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf16>},
    %h2: tensor<3xf16> {graph.name = "h2", graph.value = dense<[100.0, 101.0, 102.0]> : tensor<3xf16>},
    %k: tensor<3xbf16> {graph.name = "k", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>},
    %k2: tensor<3xbf16> {graph.name = "k2", graph.value =
      dense<[100.0, 101.0, 102.0]> : tensor<3xbf16>})
    -> (tensor<2x2x3xf32> {graph.name = "broadcast", graph.expect =
      dense<[[[1.0, 2.0, 3.0], [-1.0, -1.0, -1.0]], [[1.0, 2.0, 3.0], [-2.0, -2.0, -2.0]]]> : tensor<2x2x3xf32>},
        tensor<19xf32> {graph.name = "vectors", graph.expect =
      dense<[0.0, 0x7FC00000, 0x7FC00000, 3.0, 0x7FC00000, 0x7FC00000, 6.0, 0x7FC00000,
             0x7FC00000, 9.0, 0x7FC00000, 0x7FC00000, 12.0, 0x7FC00000, 0x7FC00000, 15.0,
             0x7FC00000, 0x7FC00000, 18.0]> : tensor<19xf32>},
        tensor<3xi1> {graph.name = "truth", graph.expect =
      dense<[true, false, false]> : tensor<3xi1>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[1, 101, 3]> : tensor<3xi64>},
        tensor<3xui8> {graph.name = "unsigned", graph.expect = dense<[1, 101, 3]> : tensor<3xui8>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[1.0, 101.0, 3.0]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.0, 101.0, 3.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[1.0, 101.0, 3.0]> : tensor<3xbf16>}) {
  // A condition per row, a value per column, another per matrix: all three broadcast.
  // CHECK: broadcast: reference, unfused, fused agree
  %broadcast = graph.where %c, %a, %b : (tensor<2x1xi1>, tensor<3xf32>, tensor<2x1x1xf32>) -> tensor<2x2x3xf32>

  // A full vector and a tail; NaN that is not taken does no harm.
  // CHECK: vectors: reference, unfused, fused agree
  %vectors = graph.where %m, %x, %y : (tensor<19xi1>, tensor<19xf32>, tensor<19xf32>) -> tensor<19xf32>

  // Of truth values.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.where %t, %p, %q : tensor<3xi1>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.where %t, %l, %l2 : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>

  // Bytes.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.where %t, %u, %u2 : (tensor<3xi1>, tensor<3xui8>, tensor<3xui8>) -> tensor<3xui8>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.where %t, %d, %d2 : (tensor<3xi1>, tensor<3xf64>, tensor<3xf64>) -> tensor<3xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.where %t, %h, %h2 : (tensor<3xi1>, tensor<3xf16>, tensor<3xf16>) -> tensor<3xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.where %t, %k, %k2 : (tensor<3xi1>, tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xbf16>

  func.return %broadcast, %vectors, %truth, %longs, %unsigned, %double, %half, %brain
    : tensor<2x2x3xf32>, tensor<19xf32>, tensor<3xi1>, tensor<3xi64>, tensor<3xui8>, tensor<3xf64>,
      tensor<3xf16>, tensor<3xbf16>
}
