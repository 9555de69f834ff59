// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %t: tensor<3x4xf32> {graph.name = "t", graph.value =
      dense<[[3.0, 1.0, 3.0, 2.0], [0.0, 0.0, -1.0, -1.0], [5.0, 5.0, 5.0, 5.0]]> : tensor<3x4xf32>},
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
    %long: tensor<2x37xf32> {graph.name = "long", graph.value =
      dense<[[0.0, 7.0, 14.0, 21.0, 28.0, 35.0, 5.0, 12.0, 19.0, 26.0, 33.0, 3.0, 10.0,
             17.0, 24.0, 31.0, 1.0, 8.0, 15.0, 22.0, 29.0, 36.0, 6.0, 13.0, 20.0, 27.0,
             34.0, 4.0, 11.0, 18.0, 25.0, 32.0, 2.0, 9.0, 16.0, 23.0, 30.0], [1.0, 1.0, 1.0,
             1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
             1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
             5.0, 1.0]]> : tensor<2x37xf32>},
    %n: tensor<2x4xf32> {graph.name = "n", graph.value =
      dense<[[1.0, 0x7FC00000, 9.0, 0x7FC00000], [0xFF800000, 0xFF800000, 0x7F800000, 0.0]]> : tensor<2x4xf32>},
    %i: tensor<1x3xi32> {graph.name = "i", graph.value =
      dense<[[-3, 7, -2147483648]]> : tensor<1x3xi32>},
    %l: tensor<1x3xi64> {graph.name = "l", graph.value =
      dense<[[9007199254740992, 9007199254740993, 9007199254740991]]> : tensor<1x3xi64>},
    %u: tensor<1x3xui8> {graph.name = "u", graph.value = dense<[[1, 200, 0]]> : tensor<1x3xui8>},
    %c: tensor<1x3xi8> {graph.name = "c", graph.value = dense<[[1, -56, 127]]> : tensor<1x3xi8>},
    %d: tensor<1x3xf64> {graph.name = "d", graph.value = dense<[[0.1, 0.3, -0.2]]> : tensor<1x3xf64>},
    %h: tensor<1x3xf16> {graph.name = "h", graph.value = dense<[[0.5, 2.0, -1.0]]> : tensor<1x3xf16>},
    %b: tensor<1x3xbf16> {graph.name = "b", graph.value =
      dense<[[0.5, 2.0, -1.0]]> : tensor<1x3xbf16>})
    -> (tensor<3xi64> {graph.name = "first", graph.expect = dense<0> : tensor<3xi64>},
        tensor<3xi64> {graph.name = "last", graph.expect = dense<[2, 1, 3]> : tensor<3xi64>},
        tensor<1x4xi64> {graph.name = "down", graph.expect =
      dense<2> : tensor<1x4xi64>},
        tensor<2x4xi64> {graph.name = "middle", graph.expect =
      dense<[[1, 2, 2, 1], [2, 0, 0, 2]]> : tensor<2x4xi64>},
        tensor<2x3xi64> {graph.name = "inner", graph.expect =
      dense<[[2, 1, 2], [2, 0, 0]]> : tensor<2x3xi64>},
        tensor<2xi64> {graph.name = "tail", graph.expect = dense<[21, 20]> : tensor<2xi64>},
        tensor<2xi64> {graph.name = "tail_last", graph.expect = dense<[21, 35]> : tensor<2xi64>},
        tensor<2xi64> {graph.name = "nan", graph.expect = dense<[1, 2]> : tensor<2xi64>},
        tensor<2xi64> {graph.name = "nan_last", graph.expect = dense<[3, 2]> : tensor<2xi64>},
        tensor<1xi64> {graph.name = "ints", graph.expect = dense<[1]> : tensor<1xi64>},
        tensor<1xi64> {graph.name = "longs", graph.expect = dense<[1]> : tensor<1xi64>},
        tensor<1xi64> {graph.name = "unsigned", graph.expect = dense<[1]> : tensor<1xi64>},
        tensor<1xi64> {graph.name = "bytes", graph.expect = dense<[2]> : tensor<1xi64>},
        tensor<1xi64> {graph.name = "double", graph.expect = dense<[1]> : tensor<1xi64>},
        tensor<1xi64> {graph.name = "half", graph.expect = dense<[1]> : tensor<1xi64>},
        tensor<1xi64> {graph.name = "brain", graph.expect = dense<[1]> : tensor<1xi64>}) {
  // Ties: the first one counts.
  // CHECK: first: reference, unfused, fused agree
  %first = graph.arg_max %t {axis = 1 : i64} : (tensor<3x4xf32>) -> tensor<3xi64>

  // Or the last one.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.arg_max %t {axis = 1 : i64, select_last} : (tensor<3x4xf32>) -> tensor<3xi64>

  // Down the columns; a dimension of size 1 stays.
  // CHECK: down: reference, unfused, fused agree
  %down = graph.arg_max %t {axis = 0 : i64, keepdims} : (tensor<3x4xf32>) -> tensor<1x4xi64>

  // Along a middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.arg_max %x {axis = 1 : i64} : (tensor<2x3x4xf32>) -> tensor<2x4xi64>

  // Along the last one.
  // CHECK: inner: reference, unfused, fused agree
  %inner = graph.arg_max %x {axis = 2 : i64} : (tensor<2x3x4xf32>) -> tensor<2x3xi64>

  // Rows of 37: whole vectors and a tail; the extremum stands in the middle, and twice in the second row.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.arg_max %long {axis = 1 : i64} : (tensor<2x37xf32>) -> tensor<2xi64>

  // The last of the two.
  // CHECK: tail_last: reference, unfused, fused agree
  %tail_last = graph.arg_max %long {axis = 1 : i64, select_last} : (tensor<2x37xf32>) -> tensor<2xi64>

  // NaN beats everything, and the first NaN counts.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.arg_max %n {axis = 1 : i64} : (tensor<2x4xf32>) -> tensor<2xi64>

  // Or the last one.
  // CHECK: nan_last: reference, unfused, fused agree
  %nan_last = graph.arg_max %n {axis = 1 : i64, select_last} : (tensor<2x4xf32>) -> tensor<2xi64>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.arg_max %i {axis = 1 : i64} : (tensor<1x3xi32>) -> tensor<1xi64>

  // Neighbours that an f64 can't tell apart.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.arg_max %l {axis = 1 : i64} : (tensor<1x3xi64>) -> tensor<1xi64>

  // 200 is no negative number here.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.arg_max %u {axis = 1 : i64} : (tensor<1x3xui8>) -> tensor<1xi64>

  // 8 bits.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.arg_max %c {axis = 1 : i64} : (tensor<1x3xi8>) -> tensor<1xi64>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.arg_max %d {axis = 1 : i64} : (tensor<1x3xf64>) -> tensor<1xi64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.arg_max %h {axis = 1 : i64} : (tensor<1x3xf16>) -> tensor<1xi64>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.arg_max %b {axis = 1 : i64} : (tensor<1x3xbf16>) -> tensor<1xi64>

  func.return %first, %last, %down, %middle, %inner, %tail, %tail_last, %nan, %nan_last, %ints, %longs, %unsigned,
    %bytes, %double, %half, %brain
    : tensor<3xi64>, tensor<3xi64>, tensor<1x4xi64>, tensor<2x4xi64>, tensor<2x3xi64>, tensor<2xi64>,
      tensor<2xi64>, tensor<2xi64>, tensor<2xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>,
      tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>
}
