// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<1x5xf32> {graph.name = "x", graph.value =
      dense<[[0.5, 1.0, 2.0, 3.0, 10.0]]> : tensor<1x5xf32>},
    %y: tensor<5x1xf32> {graph.name = "y", graph.value =
      dense<[[-2.0], [0.0], [0.5], [1.0], [3.0]]> : tensor<5x1xf32>},
    %a: tensor<9xf32> {graph.name = "a", graph.value =
      dense<[-2.0, -2.0, -2.0, 0.0, 0.0, 0.0, 0x7FC00000, 1.0, 0x7F800000]> : tensor<9xf32>},
    %b: tensor<9xf32> {graph.name = "b", graph.value =
      dense<[2.0, 3.0, 0.5, 0.0, 2.0, -1.0, 0.0, 0x7FC00000, -1.0]> : tensor<9xf32>},
    %i: tensor<8xi32> {graph.name = "i", graph.value =
      dense<[-2, -1, 0, 3, 2, 2, -1, 7]> : tensor<8xi32>},
    %i2: tensor<8xi32> {graph.name = "i2", graph.value =
      dense<[3, 2, 0, 4, 31, -1, -3, 1]> : tensor<8xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value = dense<[3, -2]> : tensor<2xi64>},
    %l2: tensor<2xi64> {graph.name = "l2", graph.value = dense<[39, 63]> : tensor<2xi64>},
    %k: tensor<2x1xi64> {graph.name = "k", graph.value = dense<[[-1], [2]]> : tensor<2x1xi64>},
    %i3: tensor<3xi32> {graph.name = "i3", graph.value = dense<[4, 9, 2]> : tensor<3xi32>},
    %r: tensor<3xf32> {graph.name = "r", graph.value = dense<[0.5, 1.5, -1.0]> : tensor<3xf32>},
    %o: tensor<6xi32> {graph.name = "o", graph.value =
      dense<[3, 3, -5, 6, 2, 7]> : tensor<6xi32>},
    %o2: tensor<6xi64> {graph.name = "o2", graph.value =
      dense<[64, 1099511627777, 1073741825, 4294967297, 32, 2147483647]> : tensor<6xi64>},
    %d: tensor<2xf64> {graph.name = "d", graph.value = dense<[2.0, 10.0]> : tensor<2xf64>},
    %d2: tensor<2xf64> {graph.name = "d2", graph.value = dense<[0.5, -3.0]> : tensor<2xf64>},
    %h: tensor<2xf16> {graph.name = "h", graph.value = dense<[2.0, 10.0]> : tensor<2xf16>},
    %h2: tensor<2xf16> {graph.name = "h2", graph.value = dense<[0.5, -2.0]> : tensor<2xf16>})
    -> (tensor<5x5xf32> {graph.name = "floats", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[4.0, 1.0, 0.25, 0.11111111, 0.01], [1.0, 1.0, 1.0, 1.0, 1.0],
             [0.70710677, 1.0, 1.4142135, 1.7320508, 3.1622777], [0.5, 1.0, 2.0, 3.0, 10.0],
             [0.125, 1.0, 8.0, 27.0, 1000.0]]> : tensor<5x5xf32>},
        tensor<9xf32> {graph.name = "edges", graph.expect =
      dense<[4.0, -8.0, 0x7FC00000, 1.0, 0.0, 0x7F800000, 1.0, 1.0, 0.0]> : tensor<9xf32>},
        tensor<1x5xf32> {graph.name = "square", graph.expect =
      dense<[[0.25, 1.0, 4.0, 9.0, 100.0]]> : tensor<1x5xf32>},
        tensor<1x5xf32> {graph.name = "cube", graph.expect =
      dense<[[0.125, 1.0, 8.0, 27.0, 1000.0]]> : tensor<1x5xf32>},
        tensor<1x5xf32> {graph.name = "root", graph.expect =
      dense<[[0.70710677, 1.0, 1.4142135, 1.7320508, 3.1622777]]> : tensor<1x5xf32>},
        tensor<1x5xf32> {graph.name = "inverse_root", graph.expect =
      dense<[[1.4142135, 1.0, 0.70710677, 0.57735026, 0.31622776]]> : tensor<1x5xf32>},
        tensor<1x5xf32> {graph.name = "inverse", graph.expect =
      dense<[[2.0, 1.0, 0.5, 0.33333334, 0.1]]> : tensor<1x5xf32>},
        tensor<8xi32> {graph.name = "ints", graph.expect =
      dense<[-8, 1, 1, 81, -2147483648, 0, -1, 7]> : tensor<8xi32>},
        tensor<6xi32> {graph.name = "wrapped", graph.expect =
      dense<[2038349057, 3, -5, 0, 0, -1227133513]> : tensor<6xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect =
      dense<[4052555153018976267, -9223372036854775808]> : tensor<2xi64>},
        tensor<2x5xf32> {graph.name = "float_int", graph.expect =
      dense<[[2.0, 1.0, 0.5, 0.33333334, 0.1], [0.25, 1.0, 4.0, 9.0, 100.0]]> : tensor<2x5xf32>},
        tensor<3xi32> {graph.name = "int_float", graph.expect = dense<[2, 27, 0]> : tensor<3xi32>},
        tensor<2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[1.4142135623730951, 0.001]> : tensor<2xf64>},
        tensor<2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.414, 0.01]> : tensor<2xf16>}) {
  %c_square = graph.constant dense<2.0> : tensor<f32>
  %c_cube = graph.constant dense<3.0> : tensor<f32>
  %c_root = graph.constant dense<0.5> : tensor<f32>
  %c_inverse_root = graph.constant dense<-0.5> : tensor<f32>
  %c_inverse = graph.constant dense<-1.0> : tensor<f32>

  // Every base with every exponent.
  // CHECK: floats: reference, unfused, fused agree
  %floats = graph.pow %x, %y : (tensor<1x5xf32>, tensor<5x1xf32>) -> tensor<5x5xf32>

  // Negative bases have whole powers only; anything to the 0 is 1, and 1 to anything.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.pow %a, %b : tensor<9xf32>

  // Constant exponents are written out: x * x,
  // CHECK: square: reference, unfused, fused agree
  %square = graph.pow %x, %c_square : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xf32>

  // x * x * x,
  // CHECK: cube: reference, unfused, fused agree
  %cube = graph.pow %x, %c_cube : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xf32>

  // a square root,
  // CHECK: root: reference, unfused, fused agree
  %root = graph.pow %x, %c_root : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xf32>

  // one over it,
  // CHECK: inverse_root: reference, unfused, fused agree
  %inverse_root = graph.pow %x, %c_inverse_root : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xf32>

  // one over x.
  // CHECK: inverse: reference, unfused, fused agree
  %inverse = graph.pow %x, %c_inverse : (tensor<1x5xf32>, tensor<f32>) -> tensor<1x5xf32>

  // Integers: 2^31 wraps; a negative exponent leaves 0 but of 1 and -1.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.pow %i, %i2 : tensor<8xi32>

  // Large exponents wrap around as often as it takes: powers of odd numbers never vanish, those of even ones do.
  // CHECK: wrapped: reference, unfused, fused agree
  %wrapped = graph.pow %o, %o2 : (tensor<6xi32>, tensor<6xi64>) -> tensor<6xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.pow %l, %l2 : tensor<2xi64>

  // A float to an integer power.
  // CHECK: float_int: reference, unfused, fused agree
  %float_int = graph.pow %x, %k : (tensor<1x5xf32>, tensor<2x1xi64>) -> tensor<2x5xf32>

  // An integer to a float is rounded toward zero.
  // CHECK: int_float: reference, unfused, fused agree
  %int_float = graph.pow %i3, %r : (tensor<3xi32>, tensor<3xf32>) -> tensor<3xi32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.pow %d, %d2 : tensor<2xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.pow %h, %h2 : tensor<2xf16>

  func.return %floats, %edges, %square, %cube, %root, %inverse_root, %inverse, %ints, %wrapped, %longs, %float_int,
    %int_float, %double, %half
    : tensor<5x5xf32>, tensor<9xf32>, tensor<1x5xf32>, tensor<1x5xf32>, tensor<1x5xf32>, tensor<1x5xf32>,
      tensor<1x5xf32>, tensor<8xi32>, tensor<6xi32>, tensor<2xi64>, tensor<2x5xf32>, tensor<3xi32>, tensor<2xf64>,
      tensor<2xf16>
}
