// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %full: tensor<2x3xi64> {graph.name = "full", graph.value =
      dense<[[0, 1, 2], [1, -1, -4]]> : tensor<2x3xi64>},
    %pair: tensor<2x2xi64> {graph.name = "pair", graph.value =
      dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>},
    %one: tensor<1x1xi64> {graph.name = "one", graph.value = dense<[[1]]> : tensor<1x1xi64>},
    %deep: tensor<2x2x1xi64> {graph.name = "deep", graph.value =
      dense<[[[0], [1]], [[1], [0]]]> : tensor<2x2x1xi64>},
    %b: tensor<2x1xi64> {graph.name = "b", graph.value = dense<[[2], [0]]> : tensor<2x1xi64>},
    %bb: tensor<2x3x1xi64> {graph.name = "bb", graph.value =
      dense<[[[3], [0], [-1]], [[1], [1], [2]]]> : tensor<2x3x1xi64>},
    %n32: tensor<1x3xi32> {graph.name = "n32", graph.value = dense<0> : tensor<1x3xi32>},
    %i: tensor<2x1xi64> {graph.name = "i", graph.value = dense<[[2], [0]]> : tensor<2x1xi64>},
    %t0: tensor<3xi1> {graph.name = "t0", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %c0: tensor<3xi8> {graph.name = "c0", graph.value = dense<[1, 0, 3]> : tensor<3xi8>},
    %u0: tensor<3xui8> {graph.name = "u0", graph.value = dense<[1, 0, 3]> : tensor<3xui8>},
    %w0: tensor<3xi16> {graph.name = "w0", graph.value = dense<[1, 0, 3]> : tensor<3xi16>},
    %i0: tensor<3xi32> {graph.name = "i0", graph.value = dense<[1, 0, 3]> : tensor<3xi32>},
    %l0: tensor<3xi64> {graph.name = "l0", graph.value = dense<[1, 0, 3]> : tensor<3xi64>},
    %h0: tensor<3xf16> {graph.name = "h0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf16>},
    %k0: tensor<3xbf16> {graph.name = "k0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xbf16>},
    %d0: tensor<3xf64> {graph.name = "d0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf64>})
    -> (tensor<2xf32> {graph.name = "elements", graph.expect = dense<[7.0, 21.0]> : tensor<2xf32>},
        tensor<2x4xf32> {graph.name = "rows", graph.expect =
      dense<[[13.0, 14.0, 15.0, 16.0], [9.0, 10.0, 11.0, 12.0]]> : tensor<2x4xf32>},
        tensor<1x3x4xf32> {graph.name = "matrices", graph.expect =
      dense<[[[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<1x3x4xf32>},
        tensor<2x2x3x4xf32> {graph.name = "shape", graph.expect =
      dense<[[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0],
             [21.0, 22.0, 23.0, 24.0]]], [[[13.0, 14.0, 15.0, 16.0],
             [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]], [[1.0, 2.0, 3.0, 4.0],
             [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]]]> : tensor<2x2x3x4xf32>},
        tensor<2x4xf32> {graph.name = "batches", graph.expect =
      dense<[[9.0, 10.0, 11.0, 12.0], [13.0, 14.0, 15.0, 16.0]]> : tensor<2x4xf32>},
        tensor<2x3xf32> {graph.name = "two_batches", graph.expect =
      dense<[[4.0, 5.0, 12.0], [14.0, 18.0, 23.0]]> : tensor<2x3xf32>},
        tensor<1xf32> {graph.name = "narrow", graph.expect = dense<[1.0]> : tensor<1xf32>},
        tensor<2xi1> {graph.name = "truth", graph.expect = dense<true> : tensor<2xi1>},
        tensor<2xi8> {graph.name = "bytes", graph.expect = dense<[3, 1]> : tensor<2xi8>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[3, 1]> : tensor<2xui8>},
        tensor<2xi16> {graph.name = "words", graph.expect = dense<[3, 1]> : tensor<2xi16>},
        tensor<2xi32> {graph.name = "ints", graph.expect = dense<[3, 1]> : tensor<2xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect = dense<[3, 1]> : tensor<2xi64>},
        tensor<2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[3.0, 1.0]> : tensor<2xf16>},
        tensor<2xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[3.0, 1.0]> : tensor<2xbf16>},
        tensor<2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[3.0, 1.0]> : tensor<2xf64>}) {
  // Each row of indices names one element; negative ones count from the end.
  // CHECK: elements: reference, unfused, fused agree
  %elements = graph.gather_nd %x, %full {batch_dims = 0 : i64}
    : (tensor<2x3x4xf32>, tensor<2x3xi64>) -> tensor<2xf32>

  // Two indices name a row of four.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.gather_nd %x, %pair {batch_dims = 0 : i64}
    : (tensor<2x3x4xf32>, tensor<2x2xi64>) -> tensor<2x4xf32>

  // One names a matrix.
  // CHECK: matrices: reference, unfused, fused agree
  %matrices = graph.gather_nd %x, %one {batch_dims = 0 : i64}
    : (tensor<2x3x4xf32>, tensor<1x1xi64>) -> tensor<1x3x4xf32>

  // The indices' own shape stays.
  // CHECK: shape: reference, unfused, fused agree
  %shape = graph.gather_nd %x, %deep {batch_dims = 0 : i64}
    : (tensor<2x3x4xf32>, tensor<2x2x1xi64>) -> tensor<2x2x3x4xf32>

  // With a batch dimension: row 2 of the first matrix, row 0 of the second.
  // CHECK: batches: reference, unfused, fused agree
  %batches = graph.gather_nd %x, %b {batch_dims = 1 : i64}
    : (tensor<2x3x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>

  // Two batch dimensions: an element of each row.
  // CHECK: two_batches: reference, unfused, fused agree
  %two_batches = graph.gather_nd %x, %bb {batch_dims = 2 : i64}
    : (tensor<2x3x4xf32>, tensor<2x3x1xi64>) -> tensor<2x3xf32>

  // 32-bit indices.
  // CHECK: narrow: reference, unfused, fused agree
  %narrow = graph.gather_nd %x, %n32 {batch_dims = 0 : i64}
    : (tensor<2x3x4xf32>, tensor<1x3xi32>) -> tensor<1xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.gather_nd %t0, %i {batch_dims = 0 : i64} : (tensor<3xi1>, tensor<2x1xi64>) -> tensor<2xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.gather_nd %c0, %i {batch_dims = 0 : i64} : (tensor<3xi8>, tensor<2x1xi64>) -> tensor<2xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.gather_nd %u0, %i {batch_dims = 0 : i64} : (tensor<3xui8>, tensor<2x1xi64>) -> tensor<2xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.gather_nd %w0, %i {batch_dims = 0 : i64} : (tensor<3xi16>, tensor<2x1xi64>) -> tensor<2xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.gather_nd %i0, %i {batch_dims = 0 : i64} : (tensor<3xi32>, tensor<2x1xi64>) -> tensor<2xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.gather_nd %l0, %i {batch_dims = 0 : i64} : (tensor<3xi64>, tensor<2x1xi64>) -> tensor<2xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.gather_nd %h0, %i {batch_dims = 0 : i64} : (tensor<3xf16>, tensor<2x1xi64>) -> tensor<2xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.gather_nd %k0, %i {batch_dims = 0 : i64} : (tensor<3xbf16>, tensor<2x1xi64>) -> tensor<2xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.gather_nd %d0, %i {batch_dims = 0 : i64} : (tensor<3xf64>, tensor<2x1xi64>) -> tensor<2xf64>

  func.return %elements, %rows, %matrices, %shape, %batches, %two_batches, %narrow, %truth, %bytes, %unsigned,
    %words, %ints, %longs, %half, %brain, %double
    : tensor<2xf32>, tensor<2x4xf32>, tensor<1x3x4xf32>, tensor<2x2x3x4xf32>, tensor<2x4xf32>,
      tensor<2x3xf32>, tensor<1xf32>, tensor<2xi1>, tensor<2xi8>, tensor<2xui8>, tensor<2xi16>,
      tensor<2xi32>, tensor<2xi64>, tensor<2xf16>, tensor<2xbf16>, tensor<2xf64>
}
