// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %s: tensor<f32> {graph.name = "s", graph.value = dense<7.0> : tensor<f32>},
    %r: tensor<3xf32> {graph.name = "r", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>},
    %c: tensor<2x1xf32> {graph.name = "c", graph.value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>},
    %m: tensor<2x1x1xf32> {graph.name = "m", graph.value =
      dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>},
    %t: tensor<2x1xi1> {graph.name = "t", graph.value = dense<[[true], [false]]> : tensor<2x1xi1>},
    %c8: tensor<2x1xi8> {graph.name = "c8", graph.value = dense<[[1], [0]]> : tensor<2x1xi8>},
    %u: tensor<2x1xui8> {graph.name = "u", graph.value = dense<[[1], [0]]> : tensor<2x1xui8>},
    %w: tensor<2x1xi16> {graph.name = "w", graph.value = dense<[[1], [0]]> : tensor<2x1xi16>},
    %i: tensor<2x1xi32> {graph.name = "i", graph.value = dense<[[1], [0]]> : tensor<2x1xi32>},
    %l: tensor<2x1xi64> {graph.name = "l", graph.value = dense<[[1], [0]]> : tensor<2x1xi64>},
    %h: tensor<2x1xf16> {graph.name = "h", graph.value = dense<[[1.0], [0.0]]> : tensor<2x1xf16>},
    %k: tensor<2x1xbf16> {graph.name = "k", graph.value = dense<[[1.0], [0.0]]> : tensor<2x1xbf16>},
    %d: tensor<2x1xf64> {graph.name = "d", graph.value = dense<[[1.0], [0.0]]> : tensor<2x1xf64>})
    -> (tensor<2x3xf32> {graph.name = "scalar", graph.expect =
      dense<7.0> : tensor<2x3xf32>},
        tensor<2x3xf32> {graph.name = "rows", graph.expect =
      dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<2x3xf32>},
        tensor<2x3xf32> {graph.name = "columns", graph.expect =
      dense<[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]> : tensor<2x3xf32>},
        tensor<2x2x2x3xf32> {graph.name = "both", graph.expect =
      dense<[[[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]],
             [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]], [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]]]]> : tensor<2x2x2x3xf32>},
        tensor<3xf32> {graph.name = "same", graph.expect = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>},
        tensor<2x0xf32> {graph.name = "nothing", graph.expect = dense<> : tensor<2x0xf32>},
        tensor<2x3xi1> {graph.name = "truth", graph.expect =
      dense<[[true, true, true], [false, false, false]]> : tensor<2x3xi1>},
        tensor<2x3xi8> {graph.name = "bytes", graph.expect =
      dense<[[1, 1, 1], [0, 0, 0]]> : tensor<2x3xi8>},
        tensor<2x3xui8> {graph.name = "unsigned", graph.expect =
      dense<[[1, 1, 1], [0, 0, 0]]> : tensor<2x3xui8>},
        tensor<2x3xi16> {graph.name = "words", graph.expect =
      dense<[[1, 1, 1], [0, 0, 0]]> : tensor<2x3xi16>},
        tensor<2x3xi32> {graph.name = "ints", graph.expect =
      dense<[[1, 1, 1], [0, 0, 0]]> : tensor<2x3xi32>},
        tensor<2x3xi64> {graph.name = "longs", graph.expect =
      dense<[[1, 1, 1], [0, 0, 0]]> : tensor<2x3xi64>},
        tensor<2x3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf16>},
        tensor<2x3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]> : tensor<2x3xbf16>},
        tensor<2x3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]> : tensor<2x3xf64>}) {
  // A scalar everywhere.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.broadcast_to %s {shape = array<i64: 2, 3>} : (tensor<f32>) -> tensor<2x3xf32>

  // A row, repeated.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.broadcast_to %r {shape = array<i64: 2, 3>} : (tensor<3xf32>) -> tensor<2x3xf32>

  // A column, repeated.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.broadcast_to %c {shape = array<i64: 2, 3>} : (tensor<2x1xf32>) -> tensor<2x3xf32>

  // New dimensions in front, and within.
  // CHECK: both: reference, unfused, fused agree
  %both = graph.broadcast_to %m {shape = array<i64: 2, 2, 2, 3>} : (tensor<2x1x1xf32>) -> tensor<2x2x2x3xf32>

  // Nothing to repeat.
  // CHECK: same: reference, unfused, fused agree
  %same = graph.broadcast_to %r {shape = array<i64: 3>} : tensor<3xf32>

  // Repeated no times.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.broadcast_to %c {shape = array<i64: 2, 0>} : (tensor<2x1xf32>) -> tensor<2x0xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.broadcast_to %t {shape = array<i64: 2, 3>} : (tensor<2x1xi1>) -> tensor<2x3xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.broadcast_to %c8 {shape = array<i64: 2, 3>} : (tensor<2x1xi8>) -> tensor<2x3xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.broadcast_to %u {shape = array<i64: 2, 3>} : (tensor<2x1xui8>) -> tensor<2x3xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.broadcast_to %w {shape = array<i64: 2, 3>} : (tensor<2x1xi16>) -> tensor<2x3xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.broadcast_to %i {shape = array<i64: 2, 3>} : (tensor<2x1xi32>) -> tensor<2x3xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.broadcast_to %l {shape = array<i64: 2, 3>} : (tensor<2x1xi64>) -> tensor<2x3xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.broadcast_to %h {shape = array<i64: 2, 3>} : (tensor<2x1xf16>) -> tensor<2x3xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.broadcast_to %k {shape = array<i64: 2, 3>} : (tensor<2x1xbf16>) -> tensor<2x3xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.broadcast_to %d {shape = array<i64: 2, 3>} : (tensor<2x1xf64>) -> tensor<2x3xf64>

  func.return %scalar, %rows, %columns, %both, %same, %nothing, %truth, %bytes, %unsigned, %words, %ints, %longs,
    %half, %brain, %double
    : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x2x2x3xf32>, tensor<3xf32>,
      tensor<2x0xf32>, tensor<2x3xi1>, tensor<2x3xi8>, tensor<2x3xui8>, tensor<2x3xi16>,
      tensor<2x3xi32>, tensor<2x3xi64>, tensor<2x3xf16>, tensor<2x3xbf16>, tensor<2x3xf64>
}
