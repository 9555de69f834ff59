// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<3x3xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
    %r: tensor<2x3xi64> {graph.name = "r", graph.value =
      dense<[[0, 2, 1], [-1, 0, -3]]> : tensor<2x3xi64>},
    %u: tensor<2x3xf32> {graph.name = "u", graph.value =
      dense<[[10.0, 20.0, 30.0], [40.0, 50.0, 60.0]]> : tensor<2x3xf32>},
    %c: tensor<2x2xi64> {graph.name = "c", graph.value = dense<[[0, -1], [1, 1]]> : tensor<2x2xi64>},
    %uc: tensor<2x2xf32> {graph.name = "uc", graph.value =
      dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf32>},
    %v: tensor<2x3x4xf32> {graph.name = "v", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %vi: tensor<2x1x4xi64> {graph.name = "vi", graph.value =
      dense<[[[0, 1, 2, 0]], [[1, 2, 0, 1]]]> : tensor<2x1x4xi64>},
    %vu: tensor<2x1x4xf32> {graph.name = "vu", graph.value =
      dense<[[[-0.0, -1.0, -2.0, -3.0]], [[-4.0, -5.0, -6.0, -7.0]]]> : tensor<2x1x4xf32>},
    %c32: tensor<1x1xi32> {graph.name = "c32", graph.value = dense<[[2]]> : tensor<1x1xi32>},
    %u1: tensor<1x1xf32> {graph.name = "u1", graph.value = dense<[[5.0]]> : tensor<1x1xf32>},
    %k1: tensor<1xf32> {graph.name = "k1", graph.value = dense<[5.0]> : tensor<1xf32>},
    %j: tensor<2xi64> {graph.name = "j", graph.value = dense<[2, 0]> : tensor<2xi64>},
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
    -> (tensor<3x3xf32> {graph.name = "rows", graph.expect =
      dense<[[10.0, 50.0, 60.0], [4.0, 5.0, 30.0], [40.0, 20.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3x3xf32> {graph.name = "columns", graph.expect =
      dense<[[10.0, 2.0, 20.0], [4.0, 40.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3x3xf32> {graph.name = "add", graph.expect =
      dense<[[11.0, 2.0, 23.0], [4.0, 75.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3x3xf32> {graph.name = "mul", graph.expect =
      dense<[[10.0, 2.0, 60.0], [4.0, 6000.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3x3xf32> {graph.name = "min", graph.expect =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3x3xf32> {graph.name = "max", graph.expect =
      dense<[[10.0, 2.0, 20.0], [4.0, 40.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<2x3x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[0.0, 2.0, 3.0, -3.0], [5.0, -1.0, 7.0, 8.0], [9.0, 10.0, -2.0, 12.0]],
             [[13.0, 14.0, -6.0, 16.0], [-4.0, 18.0, 19.0, -7.0], [21.0, -5.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
        tensor<3x3xf32> {graph.name = "narrow", graph.expect =
      dense<[[1.0, 2.0, 5.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>},
        tensor<3xf32> {graph.name = "known", graph.expect = dense<[7.0, 8.0, 5.0]> : tensor<3xf32>},
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
        tensor<3xi32> {graph.name = "ints_mul", graph.expect = dense<[7, 0, 0]> : tensor<3xi32>},
        tensor<3xbf16> {graph.name = "brain_max", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[7.0, 0.0, 3.0]> : tensor<3xbf16>}) {
  %kx = graph.constant dense<[7.0, 8.0, 9.0]> : tensor<3xf32>
  %ki = graph.constant dense<[-1]> : tensor<1xi64>

  // Each update names the row of its own column; -1 is the last row, -3 the first.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.scatter_elements %x, %r, %u {axis = 0 : i64, reduction = "none"}
    : (tensor<3x3xf32>, tensor<2x3xi64>, tensor<2x3xf32>) -> tensor<3x3xf32>

  // Each names the column of its own row; the later of two wins; rows without updates stay.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.scatter_elements %x, %c, %uc {axis = 1 : i64, reduction = "none"}
    : (tensor<3x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x3xf32>

  // Added: both count.
  // CHECK: add: reference, unfused, fused agree
  %add = graph.scatter_elements %x, %c, %uc {axis = 1 : i64, reduction = "add"}
    : (tensor<3x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x3xf32>

  // Multiplied.
  // CHECK: mul: reference, unfused, fused agree
  %mul = graph.scatter_elements %x, %c, %uc {axis = 1 : i64, reduction = "mul"}
    : (tensor<3x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x3xf32>

  // The smallest.
  // CHECK: min: reference, unfused, fused agree
  %min = graph.scatter_elements %x, %c, %uc {axis = 1 : i64, reduction = "min"}
    : (tensor<3x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x3xf32>

  // The largest.
  // CHECK: max: reference, unfused, fused agree
  %max = graph.scatter_elements %x, %c, %uc {axis = 1 : i64, reduction = "max"}
    : (tensor<3x3xf32>, tensor<2x2xi64>, tensor<2x2xf32>) -> tensor<3x3xf32>

  // Along a middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.scatter_elements %v, %vi, %vu {axis = 1 : i64, reduction = "none"}
    : (tensor<2x3x4xf32>, tensor<2x1x4xi64>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>

  // 32-bit indices.
  // CHECK: narrow: reference, unfused, fused agree
  %narrow = graph.scatter_elements %x, %c32, %u1 {axis = 1 : i64, reduction = "none"}
    : (tensor<3x3xf32>, tensor<1x1xi32>, tensor<1x1xf32>) -> tensor<3x3xf32>

  // Into a table that is known, at a place that is known.
  // CHECK: known: reference, unfused, fused agree
  %known = graph.scatter_elements %kx, %ki, %k1 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xf32>, tensor<1xi64>, tensor<1xf32>) -> tensor<3xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.scatter_elements %t0, %j, %t01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<3xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.scatter_elements %c0, %j, %c01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xi8>, tensor<2xi64>, tensor<2xi8>) -> tensor<3xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.scatter_elements %u0, %j, %u01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xui8>, tensor<2xi64>, tensor<2xui8>) -> tensor<3xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.scatter_elements %w0, %j, %w01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xi16>, tensor<2xi64>, tensor<2xi16>) -> tensor<3xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.scatter_elements %i0, %j, %i01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xi32>, tensor<2xi64>, tensor<2xi32>) -> tensor<3xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.scatter_elements %l0, %j, %l01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.scatter_elements %h0, %j, %h01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xf16>, tensor<2xi64>, tensor<2xf16>) -> tensor<3xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.scatter_elements %k0, %j, %k01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xbf16>, tensor<2xi64>, tensor<2xbf16>) -> tensor<3xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.scatter_elements %d0, %j, %d01 {axis = 0 : i64, reduction = "none"}
    : (tensor<3xf64>, tensor<2xi64>, tensor<2xf64>) -> tensor<3xf64>

  // Integers multiplied.
  // CHECK: ints_mul: reference, unfused, fused agree
  %ints_mul = graph.scatter_elements %i0, %j, %i01 {axis = 0 : i64, reduction = "mul"}
    : (tensor<3xi32>, tensor<2xi64>, tensor<2xi32>) -> tensor<3xi32>

  // The largest of bf16.
  // CHECK: brain_max: reference, unfused, fused agree
  %brain_max = graph.scatter_elements %k0, %j, %k01 {axis = 0 : i64, reduction = "max"}
    : (tensor<3xbf16>, tensor<2xi64>, tensor<2xbf16>) -> tensor<3xbf16>

  func.return %rows, %columns, %add, %mul, %min, %max, %middle, %narrow, %known, %truth, %bytes, %unsigned,
    %words, %ints, %longs, %half, %brain, %double, %ints_mul, %brain_max
    : tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>, tensor<3x3xf32>,
      tensor<3x3xf32>, tensor<2x3x4xf32>, tensor<3x3xf32>, tensor<3xf32>, tensor<3xi1>,
      tensor<3xi8>, tensor<3xui8>, tensor<3xi16>, tensor<3xi32>, tensor<3xi64>, tensor<3xf16>,
      tensor<3xbf16>, tensor<3xf64>, tensor<3xi32>, tensor<3xbf16>
}
