// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>},
    %i: tensor<3xi64> {graph.name = "i", graph.value = dense<[1, 0, 1]> : tensor<3xi64>},
    %m: tensor<2x2xi64> {graph.name = "m", graph.value = dense<[[0, -1], [-2, 2]]> : tensor<2x2xi64>},
    %s: tensor<i64> {graph.name = "s", graph.value = dense<-1> : tensor<i64>},
    %i32: tensor<2xi32> {graph.name = "i32", graph.value = dense<[2, -3]> : tensor<2xi32>},
    %v: tensor<2x3x4xf32> {graph.name = "v", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %j: tensor<2xi64> {graph.name = "j", graph.value = dense<[2, 0]> : tensor<2xi64>},
    %e: tensor<0xi64> {graph.name = "e", graph.value = dense<> : tensor<0xi64>},
    %wide: tensor<2x19xf32> {graph.name = "wide", graph.value =
      dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0,
             14.0, 15.0, 16.0, 17.0, 18.0], [19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0,
             27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0]]> : tensor<2x19xf32>},
    %t0: tensor<3xi1> {graph.name = "t0", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %c0: tensor<3xi8> {graph.name = "c0", graph.value = dense<[1, 0, 3]> : tensor<3xi8>},
    %u0: tensor<3xui8> {graph.name = "u0", graph.value = dense<[1, 0, 3]> : tensor<3xui8>},
    %w0: tensor<3xi16> {graph.name = "w0", graph.value = dense<[1, 0, 3]> : tensor<3xi16>},
    %i0: tensor<3xi32> {graph.name = "i0", graph.value = dense<[1, 0, 3]> : tensor<3xi32>},
    %l0: tensor<3xi64> {graph.name = "l0", graph.value = dense<[1, 0, 3]> : tensor<3xi64>},
    %h0: tensor<3xf16> {graph.name = "h0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf16>},
    %k0: tensor<3xbf16> {graph.name = "k0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xbf16>},
    %d0: tensor<3xf64> {graph.name = "d0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf64>})
    -> (tensor<3x3xf32> {graph.name = "rows", graph.expect =
      dense<[[4.0, 5.0, 6.0], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<3x3xf32>},
        tensor<2x2x2xf32> {graph.name = "columns", graph.expect =
      dense<[[[1.0, 3.0], [2.0, 3.0]], [[4.0, 6.0], [5.0, 6.0]]]> : tensor<2x2x2xf32>},
        tensor<2xf32> {graph.name = "scalar", graph.expect = dense<[3.0, 6.0]> : tensor<2xf32>},
        tensor<2x2xf32> {graph.name = "narrow", graph.expect =
      dense<[[3.0, 1.0], [6.0, 4.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "known", graph.expect =
      dense<[[3.0, 1.0], [6.0, 4.0]]> : tensor<2x2xf32>},
        tensor<2x2x2xf32> {graph.name = "table_rows", graph.expect =
      dense<[[[1.0, 1.5], [3.0, 3.5]], [[2.0, 2.5], [3.0, 3.5]]]> : tensor<2x2x2xf32>},
        tensor<2x2x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[9.0, 10.0, 11.0, 12.0], [1.0, 2.0, 3.0, 4.0]], [[21.0, 22.0, 23.0, 24.0],
             [13.0, 14.0, 15.0, 16.0]]]> : tensor<2x2x4xf32>},
        tensor<0x3xf32> {graph.name = "nothing", graph.expect = dense<> : tensor<0x3xf32>},
        tensor<3x19xf32> {graph.name = "tail", graph.expect =
      dense<[[19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0,
             32.0, 33.0, 34.0, 35.0, 36.0, 37.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0,
             8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0], [19.0, 20.0,
             21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0,
             34.0, 35.0, 36.0, 37.0]]> : tensor<3x19xf32>},
        tensor<3xi1> {graph.name = "truth", graph.expect =
      dense<[false, true, false]> : tensor<3xi1>},
        tensor<3xi8> {graph.name = "bytes", graph.expect = dense<[0, 1, 0]> : tensor<3xi8>},
        tensor<3xui8> {graph.name = "unsigned", graph.expect = dense<[0, 1, 0]> : tensor<3xui8>},
        tensor<3xi16> {graph.name = "words", graph.expect = dense<[0, 1, 0]> : tensor<3xi16>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[0, 1, 0]> : tensor<3xi32>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[0, 1, 0]> : tensor<3xi64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.0, 1.0, 0.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.0, 1.0, 0.0]> : tensor<3xbf16>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.0, 1.0, 0.0]> : tensor<3xf64>}) {
  %ci = graph.constant dense<[2, 0]> : tensor<2xi64>
  %table = graph.constant dense<[[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]]> : tensor<3x2xf32>

  // Rows 1, 0 and 1.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.gather %x, %i {axis = 0 : i64} : (tensor<2x3xf32>, tensor<3xi64>) -> tensor<3x3xf32>

  // Columns by a matrix of indices, which takes the columns' place; -1 is the last one, -2 the one before.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.gather %x, %m {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>

  // A scalar index takes the axis away.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.gather %x, %s {axis = 1 : i64} : (tensor<2x3xf32>, tensor<i64>) -> tensor<2xf32>

  // 32-bit indices.
  // CHECK: narrow: reference, unfused, fused agree
  %narrow = graph.gather %x, %i32 {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>

  // Indices that are known.
  // CHECK: known: reference, unfused, fused agree
  %known = graph.gather %x, %ci {axis = 1 : i64} : (tensor<2x3xf32>, tensor<2xi64>) -> tensor<2x2xf32>

  // Out of a table that is known.
  // CHECK: table_rows: reference, unfused, fused agree
  %table_rows = graph.gather %table, %m {axis = 0 : i64} : (tensor<3x2xf32>, tensor<2x2xi64>) -> tensor<2x2x2xf32>

  // Along a middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.gather %v, %j {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2xi64>) -> tensor<2x2x4xf32>

  // No index, no rows.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.gather %x, %e {axis = 0 : i64} : (tensor<2x3xf32>, tensor<0xi64>) -> tensor<0x3xf32>

  // Rows of 19: a vector and a tail.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.gather %wide, %i {axis = 0 : i64} : (tensor<2x19xf32>, tensor<3xi64>) -> tensor<3x19xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.gather %t0, %i {axis = 0 : i64} : (tensor<3xi1>, tensor<3xi64>) -> tensor<3xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.gather %c0, %i {axis = 0 : i64} : (tensor<3xi8>, tensor<3xi64>) -> tensor<3xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.gather %u0, %i {axis = 0 : i64} : (tensor<3xui8>, tensor<3xi64>) -> tensor<3xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.gather %w0, %i {axis = 0 : i64} : (tensor<3xi16>, tensor<3xi64>) -> tensor<3xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.gather %i0, %i {axis = 0 : i64} : (tensor<3xi32>, tensor<3xi64>) -> tensor<3xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.gather %l0, %i {axis = 0 : i64} : tensor<3xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.gather %h0, %i {axis = 0 : i64} : (tensor<3xf16>, tensor<3xi64>) -> tensor<3xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.gather %k0, %i {axis = 0 : i64} : (tensor<3xbf16>, tensor<3xi64>) -> tensor<3xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.gather %d0, %i {axis = 0 : i64} : (tensor<3xf64>, tensor<3xi64>) -> tensor<3xf64>

  func.return %rows, %columns, %scalar, %narrow, %known, %table_rows, %middle, %nothing, %tail, %truth, %bytes,
    %unsigned, %words, %ints, %longs, %half, %brain, %double
    : tensor<3x3xf32>, tensor<2x2x2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>,
      tensor<2x2x2xf32>, tensor<2x2x4xf32>, tensor<0x3xf32>, tensor<3x19xf32>, tensor<3xi1>,
      tensor<3xi8>, tensor<3xui8>, tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xf16>,
      tensor<3xbf16>, tensor<3xf64>
}
