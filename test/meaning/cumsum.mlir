// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<3x4xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 0.25, 8.0], [10.0, 20.0, -30.0, 0.0]]> : tensor<3x4xf32>},
    %m: tensor<2x3x4xf32> {graph.name = "m", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
    %long: tensor<1x37xf32> {graph.name = "long", graph.value =
      dense<[[-1.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.0, 1.0, 2.0, 3.0,
             -1.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.0, 1.0, 2.0, 3.0,
             -1.0, 0.0, 1.0, 2.0, 3.0, -1.0, 0.0]]> : tensor<1x37xf32>},
    %n: tensor<3xf32> {graph.name = "n", graph.value = dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[2147483647, 1, -5]> : tensor<3xi32>},
    %l: tensor<3xi64> {graph.name = "l", graph.value = dense<[1099511627776, 1, -5]> : tensor<3xi64>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[0.1, 0.2, 0.3]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[2048.0, 1.0, 1.0]> : tensor<3xf16>})
    -> (tensor<3x4xf32> {graph.name = "along", graph.expect =
      dense<[[1.0, 3.0, 6.0, 10.0], [0.5, -0.5, -0.25, 7.75], [10.0, 30.0, 0.0, 0.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "exclusive", graph.expect =
      dense<[[0.0, 1.0, 3.0, 6.0], [0.0, 0.5, -0.5, -0.25], [0.0, 10.0, 30.0, 0.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "reverse", graph.expect =
      dense<[[10.0, 9.0, 7.0, 4.0], [7.75, 7.25, 8.25, 8.0], [0.0, -10.0, -30.0, 0.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "both", graph.expect =
      dense<[[9.0, 7.0, 4.0, 0.0], [7.25, 8.25, 8.0, 0.0], [-10.0, -30.0, 0.0, 0.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "down", graph.expect =
      dense<[[1.0, 2.0, 3.0, 4.0], [1.5, 1.0, 3.25, 12.0], [11.5, 21.0, -26.75, 12.0]]> : tensor<3x4xf32>},
        tensor<3x4xf32> {graph.name = "down_both", graph.expect =
      dense<[[10.5, 19.0, -29.75, 8.0], [10.0, 20.0, -30.0, 0.0], [0.0, 0.0, 0.0, 0.0]]> : tensor<3x4xf32>},
        tensor<2x3x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[1.0, -2.0, 3.0, 0.0], [5.0, 3.0, -3.0, 2.0], [5.5, 11.0, 6.0, 3.0]],
             [[-1.0, 2.0, 7.0, 3.0], [1.0, 2.0, 8.0, -1.0], [7.0, -1.0, 10.0, 4.0]]]> : tensor<2x3x4xf32>},
        tensor<1x37xf32> {graph.name = "tail", graph.expect =
      dense<[[-1.0, -1.0, 0.0, 2.0, 5.0, 4.0, 4.0, 5.0, 7.0, 10.0, 9.0, 9.0, 10.0, 12.0,
             15.0, 14.0, 14.0, 15.0, 17.0, 20.0, 19.0, 19.0, 20.0, 22.0, 25.0, 24.0, 24.0,
             25.0, 27.0, 30.0, 29.0, 29.0, 30.0, 32.0, 35.0, 34.0, 34.0]]> : tensor<1x37xf32>},
        tensor<3xf32> {graph.name = "nan", graph.expect =
      dense<[1.0, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>},
        tensor<3xi32> {graph.name = "ints", graph.expect =
      dense<[2147483647, -2147483648, 2147483643]> : tensor<3xi32>},
        tensor<3xi64> {graph.name = "longs", graph.expect =
      dense<[1099511627776, 1099511627777, 1099511627772]> : tensor<3xi64>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[0.1, 0.3, 0.6]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[2048.0, 2048.0, 2050.0]> : tensor<3xf16>}) {
  // Along the rows: 1, 1 + 2, ...
  // CHECK: along: reference, unfused, fused agree
  %along = graph.cumsum %x {axis = 1 : i64} : tensor<3x4xf32>

  // Without the element itself: from 0 on.
  // CHECK: exclusive: reference, unfused, fused agree
  %exclusive = graph.cumsum %x {axis = 1 : i64, exclusive} : tensor<3x4xf32>

  // From the end: 4, 3 + 4, ...
  // CHECK: reverse: reference, unfused, fused agree
  %reverse = graph.cumsum %x {axis = 1 : i64, reverse} : tensor<3x4xf32>

  // From the end, without the element itself.
  // CHECK: both: reference, unfused, fused agree
  %both = graph.cumsum %x {axis = 1 : i64, exclusive, reverse} : tensor<3x4xf32>

  // Down the columns.
  // CHECK: down: reference, unfused, fused agree
  %down = graph.cumsum %x {axis = 0 : i64} : tensor<3x4xf32>

  // And from the bottom, exclusive.
  // CHECK: down_both: reference, unfused, fused agree
  %down_both = graph.cumsum %x {axis = 0 : i64, exclusive, reverse} : tensor<3x4xf32>

  // Along a middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.cumsum %m {axis = 1 : i64} : tensor<2x3x4xf32>

  // A row of 37.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.cumsum %long {axis = 1 : i64} : tensor<1x37xf32>

  // From a NaN on all sums are NaN.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.cumsum %n {axis = 0 : i64} : tensor<3xf32>

  // Integers wrap around.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.cumsum %i {axis = 0 : i64} : tensor<3xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.cumsum %l {axis = 0 : i64} : tensor<3xi64>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.cumsum %d {axis = 0 : i64} : tensor<3xf64>

  // f16, summed in f32: 2048 + 1 rounds to 2048, but 2048 + 1 + 1 is 2050.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.cumsum %h {axis = 0 : i64} : tensor<3xf16>

  func.return %along, %exclusive, %reverse, %both, %down, %down_both, %middle, %tail, %nan, %ints, %longs,
    %double, %half
    : tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>,
      tensor<3x4xf32>, tensor<2x3x4xf32>, tensor<1x37xf32>, tensor<3xf32>, tensor<3xi32>,
      tensor<3xi64>, tensor<3xf64>, tensor<3xf16>
}
