// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x4xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0, 3.0, 4.0], [0.5, -1.0, 0.25, 8.0]]> : tensor<2x4xf32>},
    %n: tensor<3xf32> {graph.name = "n", graph.value = dense<[2.0, 0x7FC00000, 0.0]> : tensor<3xf32>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[65536, 65536, 3]> : tensor<3xi32>},
    %u: tensor<3xui64> {graph.name = "u", graph.value = dense<[5, 7, 1099511627776]> : tensor<3xui64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[300.0, 300.0, 0.5]> : tensor<3xf16>})
    -> (tensor<2x4xf32> {graph.name = "along", graph.expect =
      dense<[[1.0, 2.0, 6.0, 24.0], [0.5, -0.5, -0.125, -1.0]]> : tensor<2x4xf32>},
        tensor<2x4xf32> {graph.name = "exclusive", graph.expect =
      dense<[[1.0, 1.0, 2.0, 6.0], [1.0, 0.5, -0.5, -0.125]]> : tensor<2x4xf32>},
        tensor<2x4xf32> {graph.name = "reverse", graph.expect =
      dense<[[24.0, 24.0, 12.0, 4.0], [-1.0, -2.0, 2.0, 8.0]]> : tensor<2x4xf32>},
        tensor<2x4xf32> {graph.name = "both", graph.expect =
      dense<[[24.0, 12.0, 4.0, 1.0], [-2.0, 2.0, 8.0, 1.0]]> : tensor<2x4xf32>},
        tensor<2x4xf32> {graph.name = "down", graph.expect =
      dense<[[1.0, 2.0, 3.0, 4.0], [0.5, -2.0, 0.75, 32.0]]> : tensor<2x4xf32>},
        tensor<3xf32> {graph.name = "nan", graph.expect =
      dense<[2.0, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[65536, 0, 0]> : tensor<3xi32>},
        tensor<3xui64> {graph.name = "longs", graph.expect = dense<[5, 35, 38482906972160]> : tensor<3xui64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[300.0, 0x7C00, 45000.0]> : tensor<3xf16>}) {
  // Along the rows: 1, 1 * 2, ...
  // CHECK: along: reference, unfused, fused agree
  %along = graph.cumprod %x {axis = 1 : i64} : tensor<2x4xf32>

  // Without the element itself; before the first there is 1.
  // CHECK: exclusive: reference, unfused, fused agree
  %exclusive = graph.cumprod %x {axis = 1 : i64, exclusive} : tensor<2x4xf32>

  // From the end.
  // CHECK: reverse: reference, unfused, fused agree
  %reverse = graph.cumprod %x {axis = 1 : i64, reverse} : tensor<2x4xf32>

  // From the end, without the element.
  // CHECK: both: reference, unfused, fused agree
  %both = graph.cumprod %x {axis = 1 : i64, exclusive, reverse} : tensor<2x4xf32>

  // Down the columns.
  // CHECK: down: reference, unfused, fused agree
  %down = graph.cumprod %x {axis = 0 : i64} : tensor<2x4xf32>

  // NaN stays, whatever comes.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.cumprod %n {axis = 0 : i64} : tensor<3xf32>

  // Integers wrap around.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.cumprod %i {axis = 0 : i64} : tensor<3xi32>

  // Of 64 bits, without a sign.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.cumprod %u {axis = 0 : i64} : tensor<3xui64>

  // Halves are multiplied in f32: what is too large on the way is not lost.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.cumprod %h {axis = 0 : i64} : tensor<3xf16>

  func.return %along, %exclusive, %reverse, %both, %down, %nan, %ints, %longs, %half
    : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<3xf32>, tensor<3xi32>,
      tensor<3xui64>, tensor<3xf16>
}
