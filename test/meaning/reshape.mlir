// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %e: tensor<0x3xf32> {graph.name = "e", graph.value = dense<> : tensor<0x3xf32>},
    %one: tensor<1x1xf32> {graph.name = "one", graph.value = dense<[[5.0]]> : tensor<1x1xf32>},
    %t: tensor<2x3xi1> {graph.name = "t", graph.value =
      dense<[[true, false, true], [false, true, false]]> : tensor<2x3xi1>},
    %c: tensor<2x3xi8> {graph.name = "c", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>},
    %u: tensor<2x3xui8> {graph.name = "u", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8>},
    %w: tensor<2x3xi16> {graph.name = "w", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi16>},
    %i: tensor<2x3xi32> {graph.name = "i", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>},
    %l: tensor<2x3xi64> {graph.name = "l", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>},
    %h: tensor<2x3xf16> {graph.name = "h", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16>},
    %k: tensor<2x3xbf16> {graph.name = "k", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>},
    %d: tensor<2x3xf64> {graph.name = "d", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>})
    -> (tensor<24xf32> {graph.name = "flat", graph.expect =
      dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0,
             15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0]> : tensor<24xf32>},
        tensor<4x6xf32> {graph.name = "other", graph.expect =
      dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [7.0, 8.0, 9.0, 10.0, 11.0, 12.0],
             [13.0, 14.0, 15.0, 16.0, 17.0, 18.0], [19.0, 20.0, 21.0, 22.0, 23.0, 24.0]]> : tensor<4x6xf32>},
        tensor<1x2x3x1x4xf32> {graph.name = "ones", graph.expect =
      dense<[[[[[1.0, 2.0, 3.0, 4.0]], [[5.0, 6.0, 7.0, 8.0]], [[9.0, 10.0, 11.0, 12.0]]],
             [[[13.0, 14.0, 15.0, 16.0]], [[17.0, 18.0, 19.0, 20.0]],
             [[21.0, 22.0, 23.0, 24.0]]]]]> : tensor<1x2x3x1x4xf32>},
        tensor<2x0xf32> {graph.name = "nothing", graph.expect = dense<> : tensor<2x0xf32>},
        tensor<f32> {graph.name = "scalar", graph.expect = dense<5.0> : tensor<f32>},
        tensor<3x2xi1> {graph.name = "truth", graph.expect =
      dense<[[true, false], [true, false], [true, false]]> : tensor<3x2xi1>},
        tensor<3x2xi8> {graph.name = "bytes", graph.expect =
      dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi8>},
        tensor<3x2xui8> {graph.name = "unsigned", graph.expect =
      dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xui8>},
        tensor<3x2xi16> {graph.name = "words", graph.expect =
      dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi16>},
        tensor<3x2xi32> {graph.name = "ints", graph.expect =
      dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi32>},
        tensor<3x2xi64> {graph.name = "longs", graph.expect =
      dense<[[1, 2], [3, 4], [5, 6]]> : tensor<3x2xi64>},
        tensor<3x2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf16>},
        tensor<3x2xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xbf16>},
        tensor<3x2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf64>}) {
  // Row-major order stays: all in one line.
  // CHECK: flat: reference, unfused, fused agree
  %flat = graph.reshape %x {shape = array<i64: 24>} : (tensor<2x3x4xf32>) -> tensor<24xf32>

  // Cut elsewhere.
  // CHECK: other: reference, unfused, fused agree
  %other = graph.reshape %x {shape = array<i64: 4, 6>} : (tensor<2x3x4xf32>) -> tensor<4x6xf32>

  // Dimensions of size 1.
  // CHECK: ones: reference, unfused, fused agree
  %ones = graph.reshape %x {shape = array<i64: 1, 2, 3, 1, 4>} : (tensor<2x3x4xf32>) -> tensor<1x2x3x1x4xf32>

  // No elements in another shape.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.reshape %e {shape = array<i64: 2, 0>} : (tensor<0x3xf32>) -> tensor<2x0xf32>

  // A single element as a scalar.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.reshape %one {shape = array<i64>} : (tensor<1x1xf32>) -> tensor<f32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.reshape %t {shape = array<i64: 3, 2>} : (tensor<2x3xi1>) -> tensor<3x2xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.reshape %c {shape = array<i64: 3, 2>} : (tensor<2x3xi8>) -> tensor<3x2xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.reshape %u {shape = array<i64: 3, 2>} : (tensor<2x3xui8>) -> tensor<3x2xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.reshape %w {shape = array<i64: 3, 2>} : (tensor<2x3xi16>) -> tensor<3x2xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.reshape %i {shape = array<i64: 3, 2>} : (tensor<2x3xi32>) -> tensor<3x2xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.reshape %l {shape = array<i64: 3, 2>} : (tensor<2x3xi64>) -> tensor<3x2xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.reshape %h {shape = array<i64: 3, 2>} : (tensor<2x3xf16>) -> tensor<3x2xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.reshape %k {shape = array<i64: 3, 2>} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.reshape %d {shape = array<i64: 3, 2>} : (tensor<2x3xf64>) -> tensor<3x2xf64>

  func.return %flat, %other, %ones, %nothing, %scalar, %truth, %bytes, %unsigned, %words, %ints, %longs, %half,
    %brain, %double
    : tensor<24xf32>, tensor<4x6xf32>, tensor<1x2x3x1x4xf32>, tensor<2x0xf32>, tensor<f32>,
      tensor<3x2xi1>, tensor<3x2xi8>, tensor<3x2xui8>, tensor<3x2xi16>, tensor<3x2xi32>,
      tensor<3x2xi64>, tensor<3x2xf16>, tensor<3x2xbf16>, tensor<3x2xf64>
}
