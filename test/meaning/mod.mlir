// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %i: tensor<6xi32> {graph.name = "i", graph.value = dense<[7, -7, 7, -7, 6, -6]> : tensor<6xi32>},
    %i2: tensor<6xi32> {graph.name = "i2", graph.value = dense<[3, 3, -3, -3, 3, 3]> : tensor<6xi32>},
    %l: tensor<1x3xi64> {graph.name = "l", graph.value = dense<[[5, -5, 9]]> : tensor<1x3xi64>},
    %l2: tensor<2x1xi64> {graph.name = "l2", graph.value = dense<[[4], [-4]]> : tensor<2x1xi64>},
    %u: tensor<2xui8> {graph.name = "u", graph.value = dense<[250, 7]> : tensor<2xui8>},
    %u2: tensor<2xui8> {graph.name = "u2", graph.value = dense<[100, 8]> : tensor<2xui8>},
    %c: tensor<2xi8> {graph.name = "c", graph.value = dense<[-128, 100]> : tensor<2xi8>},
    %c2: tensor<2xi8> {graph.name = "c2", graph.value = dense<[-1, -7]> : tensor<2xi8>},
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[7.5, -7.5, 7.5, -7.5, 6.0, 1000000.0, 7.5, -7.5, 7.5, -7.5, 6.0, 1000000.0,
             7.5, -7.5, 7.5, -7.5, 6.0, 1000000.0, 7.5]> : tensor<19xf32>},
    %y: tensor<19xf32> {graph.name = "y", graph.value =
      dense<[2.0, 2.0, -2.0, -2.0, 3.0, 0.25, 2.0, 2.0, -2.0, -2.0, 3.0, 0.25, 2.0, 2.0,
             -2.0, -2.0, 3.0, 0.25, 2.0]> : tensor<19xf32>},
    %e: tensor<5xf32> {graph.name = "e", graph.value =
      dense<[1.0, 0x7F800000, 5.0, -5.0, 0x7FC00000]> : tensor<5xf32>},
    %e2: tensor<5xf32> {graph.name = "e2", graph.value =
      dense<[0.0, 2.0, 0x7F800000, 0x7F800000, 1.0]> : tensor<5xf32>},
    %d: tensor<2xf64> {graph.name = "d", graph.value =
      dense<[1.0000000000000005e15, -0.3]> : tensor<2xf64>},
    %d2: tensor<2xf64> {graph.name = "d2", graph.value = dense<[7.0, 0.25]> : tensor<2xf64>},
    %h: tensor<2xf16> {graph.name = "h", graph.value = dense<[7.5, -7.5]> : tensor<2xf16>},
    %h2: tensor<2xf16> {graph.name = "h2", graph.value = dense<2.0> : tensor<2xf16>})
    -> (tensor<6xi32> {graph.name = "ints", graph.expect =
      dense<[1, 2, -2, -1, 0, 0]> : tensor<6xi32>},
        tensor<6xi32> {graph.name = "fmod_ints", graph.expect =
      dense<[1, -1, 1, -1, 0, 0]> : tensor<6xi32>},
        tensor<2x3xi64> {graph.name = "longs", graph.expect =
      dense<[[1, 3, 1], [-3, -1, -3]]> : tensor<2x3xi64>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[50, 7]> : tensor<2xui8>},
        tensor<2xi8> {graph.name = "bytes", graph.expect = dense<[0, -5]> : tensor<2xi8>},
        tensor<19xf32> {graph.name = "floats", graph.expect =
      dense<[1.5, -1.5, 1.5, -1.5, 0.0, 0.0, 1.5, -1.5, 1.5, -1.5, 0.0, 0.0, 1.5, -1.5,
             1.5, -1.5, 0.0, 0.0, 1.5]> : tensor<19xf32>},
        tensor<19xf32> {graph.name = "float_signs", graph.expect =
      dense<[1.5, 0.5, -0.5, -1.5, 0.0, 0.0, 1.5, 0.5, -0.5, -1.5, 0.0, 0.0, 1.5, 0.5,
             -0.5, -1.5, 0.0, 0.0, 1.5]> : tensor<19xf32>},
        tensor<5xf32> {graph.name = "edges", graph.expect =
      dense<[0x7FC00000, 0x7FC00000, 5.0, -5.0, 0x7FC00000]> : tensor<5xf32>},
        tensor<2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[6.5, -0.04999999999999999]> : tensor<2xf64>},
        tensor<2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.5, -1.5]> : tensor<2xf16>}) {
  // The sign is the divisor's: -7 mod 3 is 2, 7 mod -3 is -2.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.mod %i, %i2 : tensor<6xi32>

  // With fmod it is the dividend's.
  // CHECK: fmod_ints: reference, unfused, fused agree
  %fmod_ints = graph.mod %i, %i2 {fmod} : tensor<6xi32>

  // 64 bits, a row against a column.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.mod %l, %l2 : (tensor<1x3xi64>, tensor<2x1xi64>) -> tensor<2x3xi64>

  // Unsigned: 250 mod 100 is 50.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.mod %u, %u2 : tensor<2xui8>

  // 8 bits; the smallest number by -1 leaves nothing.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.mod %c, %c2 : tensor<2xi8>

  // Of floats with fmod: 7.5 leaves 1.5 over 2; the sign is the dividend's. A full vector and a tail.
  // CHECK: floats: reference, unfused, fused agree
  %floats = graph.mod %x, %y {fmod} : tensor<19xf32>

  // Without it the sign is the divisor's.
  // CHECK: float_signs: reference, unfused, fused agree
  %float_signs = graph.mod %x, %y : tensor<19xf32>

  // Nothing remains of division by zero or of infinity; a finite number is its own rest by infinity.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.mod %e, %e2 {fmod} : tensor<5xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.mod %d, %d2 {fmod} : tensor<2xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.mod %h, %h2 {fmod} : tensor<2xf16>

  func.return %ints, %fmod_ints, %longs, %unsigned, %bytes, %floats, %float_signs, %edges, %double, %half
    : tensor<6xi32>, tensor<6xi32>, tensor<2x3xi64>, tensor<2xui8>, tensor<2xi8>, tensor<19xf32>,
      tensor<19xf32>, tensor<5xf32>, tensor<2xf64>, tensor<2xf16>
}
