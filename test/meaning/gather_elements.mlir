// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<3x3xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
    %r: tensor<2x3xi64> {graph.name = "r", graph.value =
      dense<[[0, 2, 1], [-1, 0, -3]]> : tensor<2x3xi64>},
    %c: tensor<3x2xi64> {graph.name = "c", graph.value =
      dense<[[0, -1], [1, 1], [2, 0]]> : tensor<3x2xi64>},
    %c32: tensor<1x4xi32> {graph.name = "c32", graph.value = dense<[[2, 2, 2, -3]]> : tensor<1x4xi32>},
    %v: tensor<2x3x4xf32> {graph.name = "v", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %vi: tensor<2x1x4xi64> {graph.name = "vi", graph.value =
      dense<[[[0, 1, 2, 0]], [[1, 2, 0, 1]]]> : tensor<2x1x4xi64>},
    %i: tensor<3xi64> {graph.name = "i", graph.value = dense<[2, 0, 2]> : tensor<3xi64>},
    %t0: tensor<3xi1> {graph.name = "t0", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %c0: tensor<3xi8> {graph.name = "c0", graph.value = dense<[1, 0, 3]> : tensor<3xi8>},
    %u0: tensor<3xui8> {graph.name = "u0", graph.value = dense<[1, 0, 3]> : tensor<3xui8>},
    %w0: tensor<3xi16> {graph.name = "w0", graph.value = dense<[1, 0, 3]> : tensor<3xi16>},
    %i0: tensor<3xi32> {graph.name = "i0", graph.value = dense<[1, 0, 3]> : tensor<3xi32>},
    %l0: tensor<3xi64> {graph.name = "l0", graph.value = dense<[1, 0, 3]> : tensor<3xi64>},
    %h0: tensor<3xf16> {graph.name = "h0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf16>},
    %k0: tensor<3xbf16> {graph.name = "k0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xbf16>},
    %d0: tensor<3xf64> {graph.name = "d0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf64>})
    -> (tensor<2x3xf32> {graph.name = "rows", graph.expect =
      dense<[[1.0, 8.0, 6.0], [7.0, 2.0, 3.0]]> : tensor<2x3xf32>},
        tensor<3x2xf32> {graph.name = "columns", graph.expect =
      dense<[[1.0, 3.0], [5.0, 5.0], [9.0, 7.0]]> : tensor<3x2xf32>},
        tensor<3x1xf32> {graph.name = "known", graph.expect =
      dense<[[3.0], [4.0], [8.0]]> : tensor<3x1xf32>},
        tensor<1x4xf32> {graph.name = "longer", graph.expect =
      dense<[[3.0, 3.0, 3.0, 1.0]]> : tensor<1x4xf32>},
        tensor<2x1x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[1.0, 6.0, 11.0, 4.0]], [[17.0, 22.0, 15.0, 20.0]]]> : tensor<2x1x4xf32>},
        tensor<3xi1> {graph.name = "truth", graph.expect = dense<true> : tensor<3xi1>},
        tensor<3xi8> {graph.name = "bytes", graph.expect = dense<[3, 1, 3]> : tensor<3xi8>},
        tensor<3xui8> {graph.name = "unsigned", graph.expect = dense<[3, 1, 3]> : tensor<3xui8>},
        tensor<3xi16> {graph.name = "words", graph.expect = dense<[3, 1, 3]> : tensor<3xi16>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[3, 1, 3]> : tensor<3xi32>},
        tensor<3xi64> {graph.name = "longs", graph.expect = dense<[3, 1, 3]> : tensor<3xi64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[3.0, 1.0, 3.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[3.0, 1.0, 3.0]> : tensor<3xbf16>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[3.0, 1.0, 3.0]> : tensor<3xf64>}) {
  %kc = graph.constant dense<[[2], [0], [1]]> : tensor<3x1xi64>

  // Each element names the row of its own column.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.gather_elements %x, %r {axis = 0 : i64} : (tensor<3x3xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>

  // Each element names the column of its own row; -1 is the last one.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.gather_elements %x, %c {axis = 1 : i64} : (tensor<3x3xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>

  // Indices that are known.
  // CHECK: known: reference, unfused, fused agree
  %known = graph.gather_elements %x, %kc {axis = 1 : i64} : (tensor<3x3xf32>, tensor<3x1xi64>) -> tensor<3x1xf32>

  // More indices than elements along the axis, of 32 bits.
  // CHECK: longer: reference, unfused, fused agree
  %longer = graph.gather_elements %x, %c32 {axis = 1 : i64}
    : (tensor<3x3xf32>, tensor<1x4xi32>) -> tensor<1x4xf32>

  // Along a middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.gather_elements %v, %vi {axis = 1 : i64}
    : (tensor<2x3x4xf32>, tensor<2x1x4xi64>) -> tensor<2x1x4xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.gather_elements %t0, %i {axis = 0 : i64} : (tensor<3xi1>, tensor<3xi64>) -> tensor<3xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.gather_elements %c0, %i {axis = 0 : i64} : (tensor<3xi8>, tensor<3xi64>) -> tensor<3xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.gather_elements %u0, %i {axis = 0 : i64} : (tensor<3xui8>, tensor<3xi64>) -> tensor<3xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.gather_elements %w0, %i {axis = 0 : i64} : (tensor<3xi16>, tensor<3xi64>) -> tensor<3xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.gather_elements %i0, %i {axis = 0 : i64} : (tensor<3xi32>, tensor<3xi64>) -> tensor<3xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.gather_elements %l0, %i {axis = 0 : i64} : tensor<3xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.gather_elements %h0, %i {axis = 0 : i64} : (tensor<3xf16>, tensor<3xi64>) -> tensor<3xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.gather_elements %k0, %i {axis = 0 : i64} : (tensor<3xbf16>, tensor<3xi64>) -> tensor<3xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.gather_elements %d0, %i {axis = 0 : i64} : (tensor<3xf64>, tensor<3xi64>) -> tensor<3xf64>

  func.return %rows, %columns, %known, %longer, %middle, %truth, %bytes, %unsigned, %words, %ints, %longs, %half,
    %brain, %double
    : tensor<2x3xf32>, tensor<3x2xf32>, tensor<3x1xf32>, tensor<1x4xf32>, tensor<2x1x4xf32>, tensor<3xi1>,
      tensor<3xi8>, tensor<3xui8>, tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xf16>,
      tensor<3xbf16>, tensor<3xf64>
}
