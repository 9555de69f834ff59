// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-1.5, 0.0, 2.0, 0x7F800000, 0xFF800000, 0x7FC00000, -1.5, 0.0, 2.0,
             0x7F800000, 0xFF800000, 0x7FC00000, -1.5, 0.0, 2.0, 0x7F800000, 0xFF800000,
             0x7FC00000, 7.0]> : tensor<19xf32>},
    %i: tensor<4xi32> {graph.name = "i", graph.value = dense<[-3, 0, 5, -2147483648]> : tensor<4xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value = dense<[-3, 4000000000]> : tensor<2xi64>},
    %c: tensor<3xi8> {graph.name = "c", graph.value = dense<[-128, -127, 1]> : tensor<3xi8>},
    %d: tensor<2xf64> {graph.name = "d", graph.value = dense<[0.1, -1.0e300]> : tensor<2xf64>},
    %h: tensor<2xf16> {graph.name = "h", graph.value = dense<[1.5, -65500.0]> : tensor<2xf16>},
    %b: tensor<2xbf16> {graph.name = "b", graph.value = dense<[1.5, -3.0]> : tensor<2xbf16>})
    -> (tensor<19xf32> {graph.name = "floats", graph.expect =
      dense<[1.5, -0.0, -2.0, 0xFF800000, 0x7F800000, 0x7FC00000, 1.5, -0.0, -2.0,
             0xFF800000, 0x7F800000, 0x7FC00000, 1.5, -0.0, -2.0, 0xFF800000, 0x7F800000,
             0x7FC00000, -7.0]> : tensor<19xf32>},
        tensor<4xi32> {graph.name = "ints", graph.expect =
      dense<[3, 0, -5, -2147483648]> : tensor<4xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect = dense<[3, -4000000000]> : tensor<2xi64>},
        tensor<3xi8> {graph.name = "bytes", graph.expect = dense<[-128, 127, -1]> : tensor<3xi8>},
        tensor<2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.1, 1.0e300]> : tensor<2xf64>},
        tensor<2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-1.5, 65500.0]> : tensor<2xf16>},
        tensor<2xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-1.5, 3.0]> : tensor<2xbf16>}) {
  // A full vector and a tail; NaN stays NaN.
  // CHECK: floats: reference, unfused, fused agree
  %floats = graph.neg %x : tensor<19xf32>

  // The smallest integer has no opposite: it wraps to itself.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.neg %i : tensor<4xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.neg %l : tensor<2xi64>

  // 8 bits.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.neg %c : tensor<3xi8>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.neg %d : tensor<2xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.neg %h : tensor<2xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.neg %b : tensor<2xbf16>

  func.return %floats, %ints, %longs, %bytes, %double, %half, %brain
    : tensor<19xf32>, tensor<4xi32>, tensor<2xi64>, tensor<3xi8>, tensor<2xf64>, tensor<2xf16>,
      tensor<2xbf16>
}
