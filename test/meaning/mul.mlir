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
    %a: tensor<5xf32> {graph.name = "a", graph.value =
      dense<[0x7F800000, 0x7F800000, 0x7FC00000, 3.0e38, 0.0]> : tensor<5xf32>},
    %b: tensor<5xf32> {graph.name = "b", graph.value =
      dense<[-1.0, 0.0, 1.0, 10.0, -5.0]> : tensor<5xf32>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf64>},
    %d2: tensor<3xf64> {graph.name = "d2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf16>},
    %h2: tensor<3xf16> {graph.name = "h2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf16>},
    %m: tensor<3xbf16> {graph.name = "m", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xbf16>},
    %m2: tensor<3xbf16> {graph.name = "m2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xbf16>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[3, -5, 65536]> : tensor<3xi32>},
    %i2: tensor<3xi32> {graph.name = "i2", graph.value = dense<[2, 3, 65536]> : tensor<3xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value = dense<[4000000000, -1]> : tensor<2xi64>},
    %l2: tensor<2xi64> {graph.name = "l2", graph.value = dense<[2, 7]> : tensor<2xi64>},
    %c: tensor<2xi8> {graph.name = "c", graph.value = dense<[64, -5]> : tensor<2xi8>},
    %c2: tensor<2xi8> {graph.name = "c2", graph.value = dense<[2, 3]> : tensor<2xi8>},
    %u: tensor<2xui8> {graph.name = "u", graph.value = dense<[128, 3]> : tensor<2xui8>},
    %u2: tensor<2xui8> {graph.name = "u2", graph.value = dense<2> : tensor<2xui8>})
    -> (tensor<3x1x7xf32> {graph.name = "broadcast", graph.expect =
      dense<[[[-6.0, -2.0, -1.0, 0.0, 0.5, 2.0, 5.0]],
             [[1.5, 0.5, 0.25, -0.0, -0.125, -0.5, -1.25]],
             [[-12.0, -4.0, -2.0, 0.0, 1.0, 4.0, 10.0]]]> : tensor<3x1x7xf32>},
        tensor<19xf32> {graph.name = "vectors", graph.expect =
      dense<[-6.0, -4.0, 0.25, 0.25, -2.0, 20.0, 3.5, -9.0, 1.0, -1.0, 1.0, -0.5, 2.5,
             -14.0, -24.0, -0.5, -1.5, -0.25, 2.0]> : tensor<19xf32>},
        tensor<19xf32> {graph.name = "scalar", graph.expect =
      dense<[-6.0, -2.0, -1.0, 0.5, 2.0, 5.0, 14.0, -6.0, -2.0, -1.0, 0.5, 2.0, 5.0, 14.0,
             -6.0, -2.0, -1.0, 0.5, 2.0]> : tensor<19xf32>},
        tensor<5xf32> {graph.name = "edges", graph.expect =
      dense<[0xFF800000, 0x7FC00000, 0x7FC00000, 0x7F800000, -0.0]> : tensor<5xf32>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-6.0, -0.125, 21.0]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-6.0, -0.125, 21.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-6.0, -0.125, 21.0]> : tensor<3xbf16>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[6, -15, 0]> : tensor<3xi32>},
        tensor<2xi64> {graph.name = "longs", graph.expect = dense<[8000000000, -7]> : tensor<2xi64>},
        tensor<2xi8> {graph.name = "bytes", graph.expect = dense<[-128, -15]> : tensor<2xi8>},
        tensor<2xui8> {graph.name = "unsigned", graph.expect = dense<[0, 6]> : tensor<2xui8>}) {
  // A row meets a column of matrices: [1, 7] with [3, 1, 1] is [3, 1, 7].
  // CHECK: broadcast: reference, unfused, fused agree
  %broadcast = graph.mul %row, %columns : (tensor<1x7xf32>, tensor<3x1x1xf32>) -> tensor<3x1x7xf32>

  // A full vector and a tail of three.
  // CHECK: vectors: reference, unfused, fused agree
  %vectors = graph.mul %x, %y : tensor<19xf32>

  // A tensor of rank 0 goes with every element, also on the left.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.mul %one, %x : (tensor<f32>, tensor<19xf32>) -> tensor<19xf32>

  // Infinity times zero is NaN.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.mul %a, %b : tensor<5xf32>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.mul %d, %d2 : tensor<3xf64>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.mul %h, %h2 : tensor<3xf16>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.mul %m, %m2 : tensor<3xbf16>

  // 2^16 * 2^16 wraps to 0.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.mul %i, %i2 : tensor<3xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.mul %l, %l2 : tensor<2xi64>

  // 8 bits wrap around too.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.mul %c, %c2 : tensor<2xi8>

  // Unsigned.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.mul %u, %u2 : tensor<2xui8>

  func.return %broadcast, %vectors, %scalar, %edges, %double, %half, %brain, %ints, %longs, %bytes, %unsigned
    : tensor<3x1x7xf32>, tensor<19xf32>, tensor<19xf32>, tensor<5xf32>, tensor<3xf64>, tensor<3xf16>,
      tensor<3xbf16>, tensor<3xi32>, tensor<2xi64>, tensor<2xi8>, tensor<2xui8>
}
