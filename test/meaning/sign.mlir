// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<17xf32> {graph.name = "x", graph.value =
      dense<[-1.5, -0.0, 0.0, 2.0, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0e-40, -1.5, -0.0,
             0.0, 2.0, 0x7F800000, 0xFF800000, 0x7FC00000, 1.0e-40, -7.0]> : tensor<17xf32>},
    %i: tensor<4xi32> {graph.name = "i", graph.value = dense<[-3, 0, 5, -2147483648]> : tensor<4xi32>},
    %l: tensor<3xi64> {graph.name = "l", graph.value = dense<[-4000000000, 0, 1]> : tensor<3xi64>},
    %u: tensor<2xui8> {graph.name = "u", graph.value = dense<[200, 0]> : tensor<2xui8>},
    %d: tensor<3xf64> {graph.name = "d", graph.value =
      dense<[1.0e-300, -1.0e300, 0.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[1.5, -65500.0, 0.0]> : tensor<3xf16>},
    %b: tensor<3xbf16> {graph.name = "b", graph.value = dense<[1.5, -3.0, 0.0]> : tensor<3xbf16>})
    -> (tensor<17xf32> {graph.name = "floats", graph.expect =
      dense<[-1.0, 0.0, 0.0, 1.0, 1.0, -1.0, 0x7FC00000, 1.0, -1.0, 0.0, 0.0, 1.0, 1.0,
             -1.0, 0x7FC00000, 1.0, -1.0]> : tensor<17xf32>},
        tensor<4xi32> {graph.name = "ints", graph.expect = dense<[-1, 0, 1, -1]> : tensor<4xi32>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[-1, 0, 1]> : tensor<3xi64>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[1, 0]> : tensor<2xui8>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[1.0, -1.0, 0.0]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.0, -1.0, 0.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[1.0, -1.0, 0.0]> : tensor<3xbf16>}) {
  // A full vector and a tail; the smallest numbers have a sign, zeros have none, NaN stays NaN.
  // CHECK: floats: reference, unfused, fused agree
  %floats = graph.sign %x : tensor<17xf32>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.sign %i : tensor<4xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.sign %l : tensor<3xi64>

  // 200 is no negative number here.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.sign %u : tensor<2xui8>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.sign %d : tensor<3xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.sign %h : tensor<3xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.sign %b : tensor<3xbf16>

  func.return %floats, %ints, %longs, %unsigned, %double, %half, %brain
    : tensor<17xf32>, tensor<4xi32>, tensor<3xi64>, tensor<2xui8>, tensor<3xf64>, tensor<3xf16>,
      tensor<3xbf16>
}
