// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
    %long: tensor<1x37xf32> {graph.name = "long", graph.value =
      dense<[[-0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -0.5, 1.0, 1.0, 1.0, 1.0, 1.0,
             1.0, 1.0, 1.0, -0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -0.5, 1.0, 1.0,
             1.0, 1.0, 1.0, 1.0, 1.0, 1.0, -0.5]]> : tensor<1x37xf32>},
    %wide: tensor<3x19xf32> {graph.name = "wide", graph.value =
      dense<[[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0,
             1.0, 1.0, 1.0, 1.0], [-0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5,
             -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5], [2.0, 2.0, 2.0,
             2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]]> : tensor<3x19xf32>},
    %e: tensor<3x2xf32> {graph.name = "e", graph.value =
      dense<[[2.0, 0x7F800000], [0.0, 0x7F800000], [0x7FC00000, 0.0]]> : tensor<3x2xf32>},
    %empty: tensor<2x0xf32> {graph.name = "empty", graph.value = dense<> : tensor<2x0xf32>},
    %i: tensor<2x3xi32> {graph.name = "i", graph.value =
      dense<[[1, -2, 4], [65536, 65536, 3]]> : tensor<2x3xi32>},
    %l: tensor<2x3xi64> {graph.name = "l", graph.value =
      dense<[[1099511627776, 1, 2], [-1099511627776, 3, 1]]> : tensor<2x3xi64>},
    %u: tensor<2x2xui8> {graph.name = "u", graph.value = dense<[[20, 20], [1, 2]]> : tensor<2x2xui8>},
    %d: tensor<3x4xf64> {graph.name = "d", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xf64>},
    %h: tensor<3x4xf16> {graph.name = "h", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xf16>},
    %b: tensor<3x4xbf16> {graph.name = "b", graph.value =
      dense<[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]]> : tensor<3x4xbf16>})
    -> (tensor<2x3xf32> {graph.name = "last", graph.expect =
      dense<[[-0.0, -240.0, 36.0], [-42.0, -0.0, -180.0]]> : tensor<2x3xf32>},
        tensor<2x1x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[2.0, -80.0, -162.0, 0.0]], [[-12.0, -0.0, 14.0, -60.0]]]> : tensor<2x1x4xf32>},
        tensor<3x4xf32> {graph.name = "first", graph.expect =
      dense<[[-1.0, -4.0, 21.0, 0.0], [8.0, 0.0, -6.0, -8.0], [3.0, -24.0, 18.0, 5.0]]> : tensor<3x4xf32>},
        tensor<3xf32> {graph.name = "two", graph.expect =
      dense<[0.0, 0.0, -6480.0]> : tensor<3xf32>},
        tensor<f32> {graph.name = "all", graph.expect = dense<-0.0> : tensor<f32>},
        tensor<1x1x1xf32> {graph.name = "all_kept", graph.expect =
      dense<[[[-0.0]]]> : tensor<1x1x1xf32>},
        tensor<2x3x4xf32> {graph.name = "none", graph.expect =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf32>},
        tensor<1xf32> {graph.name = "tail", graph.expect = dense<[-0.03125]> : tensor<1xf32>},
        tensor<19xf32> {graph.name = "across", graph.expect =
      dense<-1.0> : tensor<19xf32>},
        tensor<3xf32> {graph.name = "edges", graph.expect =
      dense<[0x7F800000, 0x7FC00000, 0x7FC00000]> : tensor<3xf32>},
        tensor<2xf32> {graph.name = "nothing", graph.expect = dense<1.0> : tensor<2xf32>},
        tensor<2xi32> {graph.name = "ints", graph.expect = dense<[-8, 0]> : tensor<2xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect =
      dense<[2199023255552, -3298534883328]> : tensor<2xi64>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[144, 2]> : tensor<2xui8>},
        tensor<4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[2.0, -80.0, -162.0, 0.0]> : tensor<4xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-0.0, -240.0, 36.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-0.0, -240.0, 36.0]> : tensor<3xbf16>}) {
  // Along the last axis.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.reduce_prod %x {axes = array<i64: 2>} : (tensor<2x3x4xf32>) -> tensor<2x3xf32>

  // Along the middle axis; a dimension of size 1 stays.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.reduce_prod %x {axes = array<i64: 1>, keepdims} : (tensor<2x3x4xf32>) -> tensor<2x1x4xf32>

  // Along the first axis.
  // CHECK: first: reference, unfused, fused agree
  %first = graph.reduce_prod %x {axes = array<i64: 0>} : (tensor<2x3x4xf32>) -> tensor<3x4xf32>

  // Along the first and the last axis at once.
  // CHECK: two: reference, unfused, fused agree
  %two = graph.reduce_prod %x {axes = array<i64: 0, 2>} : (tensor<2x3x4xf32>) -> tensor<3xf32>

  // Along all axes: a scalar remains.
  // CHECK: all: reference, unfused, fused agree
  %all = graph.reduce_prod %x {axes = array<i64: 0, 1, 2>} : (tensor<2x3x4xf32>) -> tensor<f32>

  // Or a single element of rank 3.
  // CHECK: all_kept: reference, unfused, fused agree
  %all_kept = graph.reduce_prod %x {axes = array<i64: 0, 1, 2>, keepdims}
    : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>

  // Along no axis nothing changes.
  // CHECK: none: reference, unfused, fused agree
  %none = graph.reduce_prod %x {axes = array<i64>} : tensor<2x3x4xf32>

  // A row of 37: whole vectors and a tail.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.reduce_prod %long {axes = array<i64: 1>} : (tensor<1x37xf32>) -> tensor<1xf32>

  // Down 19 columns at once.
  // CHECK: across: reference, unfused, fused agree
  %across = graph.reduce_prod %wide {axes = array<i64: 0>} : (tensor<3x19xf32>) -> tensor<19xf32>

  // Zero times infinity is NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.reduce_prod %e {axes = array<i64: 1>} : (tensor<3x2xf32>) -> tensor<3xf32>

  // The product of nothing is 1.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.reduce_prod %empty {axes = array<i64: 1>} : (tensor<2x0xf32>) -> tensor<2xf32>

  // Integers wrap around.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.reduce_prod %i {axes = array<i64: 1>} : (tensor<2x3xi32>) -> tensor<2xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.reduce_prod %l {axes = array<i64: 1>} : (tensor<2x3xi64>) -> tensor<2xi64>

  // 400 wraps to 144.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.reduce_prod %u {axes = array<i64: 1>} : (tensor<2x2xui8>) -> tensor<2xui8>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.reduce_prod %d {axes = array<i64: 0>} : (tensor<3x4xf64>) -> tensor<4xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.reduce_prod %h {axes = array<i64: 1>} : (tensor<3x4xf16>) -> tensor<3xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.reduce_prod %b {axes = array<i64: 1>} : (tensor<3x4xbf16>) -> tensor<3xbf16>

  func.return %last, %middle, %first, %two, %all, %all_kept, %none, %tail, %across, %edges, %nothing, %ints,
    %longs, %unsigned, %double, %half, %brain
    : tensor<2x3xf32>, tensor<2x1x4xf32>, tensor<3x4xf32>, tensor<3xf32>, tensor<f32>, tensor<1x1x1xf32>,
      tensor<2x3x4xf32>, tensor<1xf32>, tensor<19xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xi32>,
      tensor<2xi64>, tensor<2xui8>, tensor<4xf64>, tensor<3xf16>, tensor<3xbf16>
}
