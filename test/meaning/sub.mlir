// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %row: tensor<1x7xf32> {graph.name = "row", graph.value =
      dense<[[-3.0, -1.0, -0.5, 0.0, 0.25, 1.0, 2.5]]> : tensor<1x7xf32>},
    %columns: tensor<3x1x1xf32> {graph.name = "columns", graph.value =
      dense<[[[2.0]], [[-0.5]], [[4.0]]]> : tensor<3x1x1xf32>},
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[-3.0, -1.0, -0.5, 0.25, 1.0, 2.5, 7.0, -3.0, -1.0, -0.5, 0.25, 1.0, 2.5, 7.0,
             -3.0, -1.0, -0.5, 0.25, 1.0]> : tensor<19xf32>},
    %y: tensor<19xf32> {graph.name = "y", graph.value =
      dense<[2.0, 4.0, -0.5, 1.0, -2.0, 8.0, 0.5, 3.0, -1.0, 2.0, 4.0, -0.5, 1.0, -2.0,
             8.0, 0.5, 3.0, -1.0, 2.0]> : tensor<19xf32>},
    %one: tensor<f32> {graph.name = "one", graph.value = dense<2.0> : tensor<f32>},
    %a: tensor<4xf32> {graph.name = "a", graph.value =
      dense<[0x7F800000, 0x7F800000, 0x7FC00000, -3.0e38]> : tensor<4xf32>},
    %b: tensor<4xf32> {graph.name = "b", graph.value =
      dense<[1.0, 0x7F800000, 1.0, 3.0e38]> : tensor<4xf32>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf64>},
    %d2: tensor<3xf64> {graph.name = "d2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf16>},
    %h2: tensor<3xf16> {graph.name = "h2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf16>},
    %m: tensor<3xbf16> {graph.name = "m", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xbf16>},
    %m2: tensor<3xbf16> {graph.name = "m2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xbf16>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[1, -5, -2147483648]> : tensor<3xi32>},
    %i2: tensor<3xi32> {graph.name = "i2", graph.value = dense<[2, 3, 1]> : tensor<3xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value = dense<[4000000000, -1]> : tensor<2xi64>},
    %l2: tensor<2xi64> {graph.name = "l2", graph.value = dense<[-4000000000, 1]> : tensor<2xi64>},
    %c: tensor<2xi8> {graph.name = "c", graph.value = dense<[-128, 5]> : tensor<2xi8>},
    %c2: tensor<2xi8> {graph.name = "c2", graph.value = dense<[1, -1]> : tensor<2xi8>},
    %u: tensor<2xui8> {graph.name = "u", graph.value = dense<[0, 3]> : tensor<2xui8>},
    %u2: tensor<2xui8> {graph.name = "u2", graph.value = dense<[1, 2]> : tensor<2xui8>})
    -> (tensor<3x1x7xf32> {graph.name = "broadcast", graph.expect =
      dense<[[[-5.0, -3.0, -2.5, -2.0, -1.75, -1.0, 0.5]],
             [[-2.5, -0.5, 0.0, 0.5, 0.75, 1.5, 3.0]],
             [[-7.0, -5.0, -4.5, -4.0, -3.75, -3.0, -1.5]]]> : tensor<3x1x7xf32>},
        tensor<19xf32> {graph.name = "vectors", graph.expect =
      dense<[-5.0, -5.0, 0.0, -0.75, 3.0, -5.5, 6.5, -6.0, 0.0, -2.5, -3.75, 1.5, 1.5, 9.0,
             -11.0, -1.5, -3.5, 1.25, -1.0]> : tensor<19xf32>},
        tensor<19xf32> {graph.name = "scalar", graph.expect =
      dense<[5.0, 3.0, 2.5, 1.75, 1.0, -0.5, -5.0, 5.0, 3.0, 2.5, 1.75, 1.0, -0.5, -5.0,
             5.0, 3.0, 2.5, 1.75, 1.0]> : tensor<19xf32>},
        tensor<4xf32> {graph.name = "edges", graph.expect =
      dense<[0x7F800000, 0x7FC00000, 0x7FC00000, 0xFF800000]> : tensor<4xf32>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-5.0, 0.75, 4.0]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-5.0, 0.75, 4.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-5.0, 0.75, 4.0]> : tensor<3xbf16>},
        tensor<3xi32> {graph.name = "ints", graph.expect =
      dense<[-1, -8, 2147483647]> : tensor<3xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect = dense<[8000000000, -2]> : tensor<2xi64>},
        tensor<2xi8> {graph.name = "bytes", graph.expect = dense<[127, 6]> : tensor<2xi8>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[255, 1]> : tensor<2xui8>}) {
  // A row meets a column of matrices: [1, 7] with [3, 1, 1] is [3, 1, 7].
  // CHECK: broadcast: reference, unfused, fused agree
  %broadcast = graph.sub %row, %columns : (tensor<1x7xf32>, tensor<3x1x1xf32>) -> tensor<3x1x7xf32>

  // A full vector and a tail of three.
  // CHECK: vectors: reference, unfused, fused agree
  %vectors = graph.sub %x, %y : tensor<19xf32>

  // A tensor of rank 0 goes with every element, also on the left.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.sub %one, %x : (tensor<f32>, tensor<19xf32>) -> tensor<19xf32>

  // Infinity minus itself is NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.sub %a, %b : tensor<4xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.sub %d, %d2 : tensor<3xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.sub %h, %h2 : tensor<3xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.sub %m, %m2 : tensor<3xbf16>

  // The smallest integer minus one wraps to the largest.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.sub %i, %i2 : tensor<3xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.sub %l, %l2 : tensor<2xi64>

  // 8 bits wrap around too.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.sub %c, %c2 : tensor<2xi8>

  // 0 - 1 wraps to 255.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.sub %u, %u2 : tensor<2xui8>

  func.return %broadcast, %vectors, %scalar, %edges, %double, %half, %brain, %ints, %longs, %bytes, %unsigned
    : tensor<3x1x7xf32>, tensor<19xf32>, tensor<19xf32>, tensor<4xf32>, tensor<3xf64>, tensor<3xf16>,
      tensor<3xbf16>, tensor<3xi32>, tensor<2xi64>, tensor<2xi8>, tensor<2xui8>
}
