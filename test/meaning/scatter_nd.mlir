// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<5xf32> {graph.name = "x", graph.value =
      dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>},
    %i: tensor<2x1xi64> {graph.name = "i", graph.value = dense<[[3], [-5]]> : tensor<2x1xi64>},
    %u: tensor<2xf32> {graph.name = "u", graph.value = dense<[40.0, 10.0]> : tensor<2xf32>},
    %again: tensor<3x1xi64> {graph.name = "again", graph.value =
      dense<[[1], [1], [4]]> : tensor<3x1xi64>},
    %three: tensor<3xf32> {graph.name = "three", graph.value =
      dense<[10.0, 100.0, -9.0]> : tensor<3xf32>},
    %m: tensor<3x4xf32> {graph.name = "m", graph.value =
      dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<3x4xf32>},
    %r: tensor<2x1xi64> {graph.name = "r", graph.value = dense<[[2], [0]]> : tensor<2x1xi64>},
    %ur: tensor<2x4xf32> {graph.name = "ur", graph.value =
      dense<[[1.0, 1.0, 1.0, 1.0], [-1.0, -2.0, -3.0, -4.0]]> : tensor<2x4xf32>},
    %p: tensor<2x1x2xi64> {graph.name = "p", graph.value =
      dense<[[[0, 1]], [[2, -1]]]> : tensor<2x1x2xi64>},
    %up: tensor<2x1xf32> {graph.name = "up", graph.value = dense<[[50.0], [60.0]]> : tensor<2x1xf32>},
    %nan: tensor<3xf32> {graph.name = "nan", graph.value =
      dense<[0x7FC00000, 1.0, 0x7FC00000]> : tensor<3xf32>},
    %u1: tensor<1xf32> {graph.name = "u1", graph.value = dense<[5.0]> : tensor<1xf32>},
    %none: tensor<0x1xi64> {graph.name = "none", graph.value = dense<> : tensor<0x1xi64>},
    %unone: tensor<0xf32> {graph.name = "unone", graph.value = dense<> : tensor<0xf32>},
    %n32: tensor<1x1xi32> {graph.name = "n32", graph.value = dense<[[2]]> : tensor<1x1xi32>},
    %j: tensor<2x1xi64> {graph.name = "j", graph.value = dense<[[2], [0]]> : tensor<2x1xi64>},
    %t0: tensor<3xi1> {graph.name = "t0", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %t01: tensor<2xi1> {graph.name = "t01", graph.value = dense<[false, true]> : tensor<2xi1>},
    %c0: tensor<3xi8> {graph.name = "c0", graph.value = dense<[1, 0, 3]> : tensor<3xi8>},
    %c01: tensor<2xi8> {graph.name = "c01", graph.value = dense<[0, 7]> : tensor<2xi8>},
    %u0: tensor<3xui8> {graph.name = "u0", graph.value = dense<[1, 0, 3]> : tensor<3xui8>},
    %u01: tensor<2xui8> {graph.name = "u01", graph.value = dense<[0, 7]> : tensor<2xui8>},
    %w0: tensor<3xi16> {graph.name = "w0", graph.value = dense<[1, 0, 3]> : tensor<3xi16>},
    %w01: tensor<2xi16> {graph.name = "w01", graph.value = dense<[0, 7]> : tensor<2xi16>},
    %i0: tensor<3xi32> {graph.name = "i0", graph.value = dense<[1, 0, 3]> : tensor<3xi32>},
    %i01: tensor<2xi32> {graph.name = "i01", graph.value = dense<[0, 7]> : tensor<2xi32>},
    %l0: tensor<3xi64> {graph.name = "l0", graph.value = dense<[1, 0, 3]> : tensor<3xi64>},
    %l01: tensor<2xi64> {graph.name = "l01", graph.value = dense<[0, 7]> : tensor<2xi64>},
    %h0: tensor<3xf16> {graph.name = "h0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf16>},
    %h01: tensor<2xf16> {graph.name = "h01", graph.value = dense<[0.0, 7.0]> : tensor<2xf16>},
    %k0: tensor<3xbf16> {graph.name = "k0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xbf16>},
    %k01: tensor<2xbf16> {graph.name = "k01", graph.value = dense<[0.0, 7.0]> : tensor<2xbf16>},
    %d0: tensor<3xf64> {graph.name = "d0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf64>},
    %d01: tensor<2xf64> {graph.name = "d01", graph.value = dense<[0.0, 7.0]> : tensor<2xf64>})
    -> (tensor<5xf32> {graph.name = "elements", graph.expect =
      dense<[10.0, 2.0, 3.0, 40.0, 5.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "later_wins", graph.expect =
      dense<[1.0, 100.0, 3.0, 4.0, -9.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "add", graph.expect =
      dense<[1.0, 112.0, 3.0, 4.0, -4.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "mul", graph.expect =
      dense<[1.0, 2000.0, 3.0, 4.0, -45.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "min", graph.expect =
      dense<[1.0, 2.0, 3.0, 4.0, -9.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "max", graph.expect =
      dense<[1.0, 100.0, 3.0, 4.0, 5.0]> : tensor<5xf32>},
        tensor<3x4xf32> {graph.name = "rows", graph.expect =
      dense<[[-1.0, -2.0, -3.0, -4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 1.0, 1.0, 1.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "rows_add", graph.expect =
      dense<[[0.0, 0.0, 0.0, 0.0], [5.0, 6.0, 7.0, 8.0], [10.0, 11.0, 12.0, 13.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "places", graph.expect =
      dense<[[1.0, 50.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 60.0]]> : tensor<3x4xf32>},
        tensor<5xf32> {graph.name = "nan_max", graph.expect =
      dense<[1.0, 0x7FC00000, 3.0, 4.0, 0x7FC00000]> : tensor<5xf32>},
        tensor<3xf32> {graph.name = "known", graph.expect = dense<[5.0, 8.0, 9.0]> : tensor<3xf32>},
        tensor<3xf32> {graph.name = "known_again", graph.expect =
      dense<[12.0, 8.0, 9.0]> : tensor<3xf32>},
        tensor<5xf32> {graph.name = "nothing", graph.expect =
      dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "narrow", graph.expect =
      dense<[1.0, 2.0, 5.0, 4.0, 5.0]> : tensor<5xf32>},
        tensor<3xi1> {graph.name = "truth", graph.expect =
      dense<[true, false, false]> : tensor<3xi1>},
        tensor<3xi8> {graph.name = "bytes", graph.expect = dense<[7, 0, 0]> : tensor<3xi8>},
        tensor<3xui8> {graph.name = "unsigned", graph.expect = dense<[7, 0, 0]> : tensor<3xui8>},
        tensor<3xi16> {graph.name = "words", graph.expect = dense<[7, 0, 0]> : tensor<3xi16>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[7, 0, 0]> : tensor<3xi32>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[7, 0, 0]> : tensor<3xi64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[7.0, 0.0, 0.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[7.0, 0.0, 0.0]> : tensor<3xbf16>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[7.0, 0.0, 0.0]> : tensor<3xf64>},
        tensor<3xi32> {graph.name = "ints_add", graph.expect = dense<[8, 0, 3]> : tensor<3xi32>},
        tensor<3xf16> {graph.name = "half_add", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[8.0, 0.0, 3.0]> : tensor<3xf16>}) {
  %ki = graph.constant dense<[[0]]> : tensor<1x1xi64>
  %kx = graph.constant dense<[7.0, 8.0, 9.0]> : tensor<3xf32>

  // Element 3 becomes 40; -5 is element 0, which becomes 10.
  // CHECK: elements: reference, unfused, fused agree
  %elements = graph.scatter_nd %x, %i, %u {reduction = "none"}
    : (tensor<5xf32>, tensor<2x1xi64>, tensor<2xf32>) -> tensor<5xf32>

  // An element that is named twice gets the later update.
  // CHECK: later_wins: reference, unfused, fused agree
  %later_wins = graph.scatter_nd %x, %again, %three {reduction = "none"}
    : (tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5xf32>

  // Added: both updates count.
  // CHECK: add: reference, unfused, fused agree
  %add = graph.scatter_nd %x, %again, %three {reduction = "add"}
    : (tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5xf32>

  // Multiplied.
  // CHECK: mul: reference, unfused, fused agree
  %mul = graph.scatter_nd %x, %again, %three {reduction = "mul"}
    : (tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5xf32>

  // The smallest.
  // CHECK: min: reference, unfused, fused agree
  %min = graph.scatter_nd %x, %again, %three {reduction = "min"}
    : (tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5xf32>

  // The largest.
  // CHECK: max: reference, unfused, fused agree
  %max = graph.scatter_nd %x, %again, %three {reduction = "max"}
    : (tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5xf32>

  // Whole rows.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.scatter_nd %m, %r, %ur {reduction = "none"}
    : (tensor<3x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>

  // Rows added.
  // CHECK: rows_add: reference, unfused, fused agree
  %rows_add = graph.scatter_nd %m, %r, %ur {reduction = "add"}
    : (tensor<3x4xf32>, tensor<2x1xi64>, tensor<2x4xf32>) -> tensor<3x4xf32>

  // Two indices name an element.
  // CHECK: places: reference, unfused, fused agree
  %places = graph.scatter_nd %m, %p, %up {reduction = "none"}
    : (tensor<3x4xf32>, tensor<2x1x2xi64>, tensor<2x1xf32>) -> tensor<3x4xf32>

  // NaN wins in min and max.
  // CHECK: nan_max: reference, unfused, fused agree
  %nan_max = graph.scatter_nd %x, %again, %nan {reduction = "max"}
    : (tensor<5xf32>, tensor<3x1xi64>, tensor<3xf32>) -> tensor<5xf32>

  // Into a table that is known, which itself stays as it is.
  // CHECK: known: reference, unfused, fused agree
  %known = graph.scatter_nd %kx, %ki, %u1 {reduction = "none"}
    : (tensor<3xf32>, tensor<1x1xi64>, tensor<1xf32>) -> tensor<3xf32>

  // As is seen here.
  // CHECK: known_again: reference, unfused, fused agree
  %known_again = graph.scatter_nd %kx, %ki, %u1 {reduction = "add"}
    : (tensor<3xf32>, tensor<1x1xi64>, tensor<1xf32>) -> tensor<3xf32>

  // No update.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.scatter_nd %x, %none, %unone {reduction = "none"}
    : (tensor<5xf32>, tensor<0x1xi64>, tensor<0xf32>) -> tensor<5xf32>

  // 32-bit indices.
  // CHECK: narrow: reference, unfused, fused agree
  %narrow = graph.scatter_nd %x, %n32, %u1 {reduction = "none"}
    : (tensor<5xf32>, tensor<1x1xi32>, tensor<1xf32>) -> tensor<5xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.scatter_nd %t0, %j, %t01 {reduction = "none"}
    : (tensor<3xi1>, tensor<2x1xi64>, tensor<2xi1>) -> tensor<3xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.scatter_nd %c0, %j, %c01 {reduction = "none"}
    : (tensor<3xi8>, tensor<2x1xi64>, tensor<2xi8>) -> tensor<3xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.scatter_nd %u0, %j, %u01 {reduction = "none"}
    : (tensor<3xui8>, tensor<2x1xi64>, tensor<2xui8>) -> tensor<3xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.scatter_nd %w0, %j, %w01 {reduction = "none"}
    : (tensor<3xi16>, tensor<2x1xi64>, tensor<2xi16>) -> tensor<3xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.scatter_nd %i0, %j, %i01 {reduction = "none"}
    : (tensor<3xi32>, tensor<2x1xi64>, tensor<2xi32>) -> tensor<3xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.scatter_nd %l0, %j, %l01 {reduction = "none"}
    : (tensor<3xi64>, tensor<2x1xi64>, tensor<2xi64>) -> tensor<3xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.scatter_nd %h0, %j, %h01 {reduction = "none"}
    : (tensor<3xf16>, tensor<2x1xi64>, tensor<2xf16>) -> tensor<3xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.scatter_nd %k0, %j, %k01 {reduction = "none"}
    : (tensor<3xbf16>, tensor<2x1xi64>, tensor<2xbf16>) -> tensor<3xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.scatter_nd %d0, %j, %d01 {reduction = "none"}
    : (tensor<3xf64>, tensor<2x1xi64>, tensor<2xf64>) -> tensor<3xf64>

  // Integers added.
  // CHECK: ints_add: reference, unfused, fused agree
  %ints_add = graph.scatter_nd %i0, %j, %i01 {reduction = "add"}
    : (tensor<3xi32>, tensor<2x1xi64>, tensor<2xi32>) -> tensor<3xi32>

  // f16 added.
  // CHECK: half_add: reference, unfused, fused agree
  %half_add = graph.scatter_nd %h0, %j, %h01 {reduction = "add"}
    : (tensor<3xf16>, tensor<2x1xi64>, tensor<2xf16>) -> tensor<3xf16>

  func.return %elements, %later_wins, %add, %mul, %min, %max, %rows, %rows_add, %places, %nan_max, %known,
    %known_again, %nothing, %narrow, %truth, %bytes, %unsigned, %words, %ints, %longs, %half,
    %brain, %double, %ints_add, %half_add
    : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>,
      tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<5xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<5xf32>, tensor<5xf32>, tensor<3xi1>, tensor<3xi8>, tensor<3xui8>,
      tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xf16>, tensor<3xbf16>, tensor<3xf64>,
      tensor<3xi32>, tensor<3xf16>
}
