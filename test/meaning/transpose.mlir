// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %m: tensor<2x3xf32> {graph.name = "m", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>},
    %tile: tensor<17x19xui8> {graph.name = "tile", graph.value =
      dense<[[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18],
             [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37],
             [38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56],
             [57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75],
             [76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94],
             [95, 96, 97, 98, 99, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13],
             [14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32],
             [33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51],
             [52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70],
             [71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89],
             [90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 0, 1, 2, 3, 4, 5, 6, 7, 8],
             [9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27],
             [28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46],
             [47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63, 64, 65],
             [66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83, 84],
             [85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 0, 1, 2, 3],
             [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22]]> : tensor<17x19xui8>},
    %s: tensor<f32> {graph.name = "s", graph.value = dense<7.0> : tensor<f32>},
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
    -> (tensor<3x2xf32> {graph.name = "matrix", graph.expect =
      dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf32>},
        tensor<2x4x3xf32> {graph.name = "p021", graph.expect =
      dense<[[[1.0, 5.0, 9.0], [2.0, 6.0, 10.0], [3.0, 7.0, 11.0], [4.0, 8.0, 12.0]],
             [[13.0, 17.0, 21.0], [14.0, 18.0, 22.0], [15.0, 19.0, 23.0],
             [16.0, 20.0, 24.0]]]> : tensor<2x4x3xf32>},
        tensor<3x2x4xf32> {graph.name = "p102", graph.expect =
      dense<[[[1.0, 2.0, 3.0, 4.0], [13.0, 14.0, 15.0, 16.0]], [[5.0, 6.0, 7.0, 8.0],
             [17.0, 18.0, 19.0, 20.0]], [[9.0, 10.0, 11.0, 12.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<3x2x4xf32>},
        tensor<4x2x3xf32> {graph.name = "p201", graph.expect =
      dense<[[[1.0, 5.0, 9.0], [13.0, 17.0, 21.0]], [[2.0, 6.0, 10.0], [14.0, 18.0, 22.0]],
             [[3.0, 7.0, 11.0], [15.0, 19.0, 23.0]], [[4.0, 8.0, 12.0], [16.0, 20.0, 24.0]]]> : tensor<4x2x3xf32>},
        tensor<3x4x2xf32> {graph.name = "p120", graph.expect =
      dense<[[[1.0, 13.0], [2.0, 14.0], [3.0, 15.0], [4.0, 16.0]], [[5.0, 17.0],
             [6.0, 18.0], [7.0, 19.0], [8.0, 20.0]], [[9.0, 21.0], [10.0, 22.0],
             [11.0, 23.0], [12.0, 24.0]]]> : tensor<3x4x2xf32>},
        tensor<4x3x2xf32> {graph.name = "p210", graph.expect =
      dense<[[[1.0, 13.0], [5.0, 17.0], [9.0, 21.0]], [[2.0, 14.0], [6.0, 18.0],
             [10.0, 22.0]], [[3.0, 15.0], [7.0, 19.0], [11.0, 23.0]], [[4.0, 16.0],
             [8.0, 20.0], [12.0, 24.0]]]> : tensor<4x3x2xf32>},
        tensor<2x3x4xf32> {graph.name = "p012", graph.expect =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
        tensor<19x17xui8> {graph.name = "tiles", graph.expect =
      dense<[[0, 19, 38, 57, 76, 95, 14, 33, 52, 71, 90, 9, 28, 47, 66, 85, 4],
             [1, 20, 39, 58, 77, 96, 15, 34, 53, 72, 91, 10, 29, 48, 67, 86, 5],
             [2, 21, 40, 59, 78, 97, 16, 35, 54, 73, 92, 11, 30, 49, 68, 87, 6],
             [3, 22, 41, 60, 79, 98, 17, 36, 55, 74, 93, 12, 31, 50, 69, 88, 7],
             [4, 23, 42, 61, 80, 99, 18, 37, 56, 75, 94, 13, 32, 51, 70, 89, 8],
             [5, 24, 43, 62, 81, 0, 19, 38, 57, 76, 95, 14, 33, 52, 71, 90, 9],
             [6, 25, 44, 63, 82, 1, 20, 39, 58, 77, 96, 15, 34, 53, 72, 91, 10],
             [7, 26, 45, 64, 83, 2, 21, 40, 59, 78, 97, 16, 35, 54, 73, 92, 11],
             [8, 27, 46, 65, 84, 3, 22, 41, 60, 79, 98, 17, 36, 55, 74, 93, 12],
             [9, 28, 47, 66, 85, 4, 23, 42, 61, 80, 99, 18, 37, 56, 75, 94, 13],
             [10, 29, 48, 67, 86, 5, 24, 43, 62, 81, 0, 19, 38, 57, 76, 95, 14],
             [11, 30, 49, 68, 87, 6, 25, 44, 63, 82, 1, 20, 39, 58, 77, 96, 15],
             [12, 31, 50, 69, 88, 7, 26, 45, 64, 83, 2, 21, 40, 59, 78, 97, 16],
             [13, 32, 51, 70, 89, 8, 27, 46, 65, 84, 3, 22, 41, 60, 79, 98, 17],
             [14, 33, 52, 71, 90, 9, 28, 47, 66, 85, 4, 23, 42, 61, 80, 99, 18],
             [15, 34, 53, 72, 91, 10, 29, 48, 67, 86, 5, 24, 43, 62, 81, 0, 19],
             [16, 35, 54, 73, 92, 11, 30, 49, 68, 87, 6, 25, 44, 63, 82, 1, 20],
             [17, 36, 55, 74, 93, 12, 31, 50, 69, 88, 7, 26, 45, 64, 83, 2, 21],
             [18, 37, 56, 75, 94, 13, 32, 51, 70, 89, 8, 27, 46, 65, 84, 3, 22]]> : tensor<19x17xui8>},
        tensor<f32> {graph.name = "scalar", graph.expect = dense<7.0> : tensor<f32>},
        tensor<3x2xi1> {graph.name = "truth", graph.expect =
      dense<[[true, false], [false, true], [true, false]]> : tensor<3x2xi1>},
        tensor<3x2xi8> {graph.name = "bytes", graph.expect =
      dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi8>},
        tensor<3x2xui8> {graph.name = "unsigned", graph.expect =
      dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xui8>},
        tensor<3x2xi16> {graph.name = "words", graph.expect =
      dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi16>},
        tensor<3x2xi32> {graph.name = "ints", graph.expect =
      dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi32>},
        tensor<3x2xi64> {graph.name = "longs", graph.expect =
      dense<[[1, 4], [2, 5], [3, 6]]> : tensor<3x2xi64>},
        tensor<3x2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf16>},
        tensor<3x2xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xbf16>},
        tensor<3x2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]> : tensor<3x2xf64>}) {
  // Rows become columns.
  // CHECK: matrix: reference, unfused, fused agree
  %matrix = graph.transpose %m {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>

  // The last two dimensions.
  // CHECK: p021: reference, unfused, fused agree
  %p021 = graph.transpose %x {permutation = array<i64: 0, 2, 1>} : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>

  // The first two: rows of four stay together.
  // CHECK: p102: reference, unfused, fused agree
  %p102 = graph.transpose %x {permutation = array<i64: 1, 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3x2x4xf32>

  // The last one moves to the front.
  // CHECK: p201: reference, unfused, fused agree
  %p201 = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>

  // The first one moves to the back.
  // CHECK: p120: reference, unfused, fused agree
  %p120 = graph.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<2x3x4xf32>) -> tensor<3x4x2xf32>

  // All turned round.
  // CHECK: p210: reference, unfused, fused agree
  %p210 = graph.transpose %x {permutation = array<i64: 2, 1, 0>} : (tensor<2x3x4xf32>) -> tensor<4x3x2xf32>

  // Nothing moves.
  // CHECK: p012: reference, unfused, fused agree
  %p012 = graph.transpose %x {permutation = array<i64: 0, 1, 2>} : tensor<2x3x4xf32>

  // 17 by 19 bytes: whole squares and what is left beside them.
  // CHECK: tiles: reference, unfused, fused agree
  %tiles = graph.transpose %tile {permutation = array<i64: 1, 0>} : (tensor<17x19xui8>) -> tensor<19x17xui8>

  // A scalar has nothing to permute.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.transpose %s {permutation = array<i64>} : tensor<f32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.transpose %t {permutation = array<i64: 1, 0>} : (tensor<2x3xi1>) -> tensor<3x2xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.transpose %c {permutation = array<i64: 1, 0>} : (tensor<2x3xi8>) -> tensor<3x2xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.transpose %u {permutation = array<i64: 1, 0>} : (tensor<2x3xui8>) -> tensor<3x2xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.transpose %w {permutation = array<i64: 1, 0>} : (tensor<2x3xi16>) -> tensor<3x2xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.transpose %i {permutation = array<i64: 1, 0>} : (tensor<2x3xi32>) -> tensor<3x2xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.transpose %l {permutation = array<i64: 1, 0>} : (tensor<2x3xi64>) -> tensor<3x2xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.transpose %h {permutation = array<i64: 1, 0>} : (tensor<2x3xf16>) -> tensor<3x2xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.transpose %k {permutation = array<i64: 1, 0>} : (tensor<2x3xbf16>) -> tensor<3x2xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.transpose %d {permutation = array<i64: 1, 0>} : (tensor<2x3xf64>) -> tensor<3x2xf64>

  func.return %matrix, %p021, %p102, %p201, %p120, %p210, %p012, %tiles, %scalar, %truth, %bytes, %unsigned,
    %words, %ints, %longs, %half, %brain, %double
    : tensor<3x2xf32>, tensor<2x4x3xf32>, tensor<3x2x4xf32>, tensor<4x2x3xf32>, tensor<3x4x2xf32>,
      tensor<4x3x2xf32>, tensor<2x3x4xf32>, tensor<19x17xui8>, tensor<f32>, tensor<3x2xi1>,
      tensor<3x2xi8>, tensor<3x2xui8>, tensor<3x2xi16>, tensor<3x2xi32>, tensor<3x2xi64>,
      tensor<3x2xf16>, tensor<3x2xbf16>, tensor<3x2xf64>
}
