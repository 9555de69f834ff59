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
      dense<[0x7FC00000, 0x7FC00000, 0x7F800000, -0.0, 0xFF800000]> : tensor<5xf32>},
    %b: tensor<5xf32> {graph.name = "b", graph.value =
      dense<[0x7FC00000, 1.0, 0x7F800000, 0.0, 0x7F800000]> : tensor<5xf32>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf64>},
    %d2: tensor<3xf64> {graph.name = "d2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xf16>},
    %h2: tensor<3xf16> {graph.name = "h2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xf16>},
    %m: tensor<3xbf16> {graph.name = "m", graph.value = dense<[-3.0, 0.5, 7.0]> : tensor<3xbf16>},
    %m2: tensor<3xbf16> {graph.name = "m2", graph.value = dense<[2.0, -0.25, 3.0]> : tensor<3xbf16>},
    %i: tensor<4xi32> {graph.name = "i", graph.value = dense<[1, -5, 3, -2147483648]> : tensor<4xi32>},
    %i2: tensor<4xi32> {graph.name = "i2", graph.value =
      dense<[1, 3, -3, 2147483647]> : tensor<4xi32>},
    %l: tensor<2xi64> {graph.name = "l", graph.value =
      dense<[4000000000, 4000000001]> : tensor<2xi64>},
    %l2: tensor<2xi64> {graph.name = "l2", graph.value =
      dense<[4000000001, 4000000000]> : tensor<2xi64>},
    %c: tensor<2xi8> {graph.name = "c", graph.value = dense<[-128, 127]> : tensor<2xi8>},
    %c2: tensor<2xi8> {graph.name = "c2", graph.value = dense<[127, -128]> : tensor<2xi8>},
    %u: tensor<2xui8> {graph.name = "u", graph.value = dense<[255, 1]> : tensor<2xui8>},
    %u2: tensor<2xui8> {graph.name = "u2", graph.value = dense<[1, 200]> : tensor<2xui8>})
    -> (tensor<3x1x7xi1> {graph.name = "broadcast", graph.expect =
      dense<[[[true, true, true, true, true, true, false]],
             [[true, true, false, false, false, false, false]],
             [[true, true, true, true, true, true, true]]]> : tensor<3x1x7xi1>},
        tensor<19xi1> {graph.name = "vectors", graph.expect =
      dense<[true, true, false, true, false, true, false, true, false, true, true, false,
             false, false, true, true, true, false, true]> : tensor<19xi1>},
        tensor<19xi1> {graph.name = "scalar", graph.expect =
      dense<[false, false, false, false, false, true, true, false, false, false, false,
             false, true, true, false, false, false, false, false]> : tensor<19xi1>},
        tensor<5xi1> {graph.name = "edges", graph.expect =
      dense<[false, false, false, false, true]> : tensor<5xi1>},
        tensor<3xi1> {graph.name = "double", graph.expect =
      dense<[true, false, false]> : tensor<3xi1>},
        tensor<3xi1> {graph.name = "half", graph.expect =
      dense<[true, false, false]> : tensor<3xi1>},
        tensor<3xi1> {graph.name = "brain", graph.expect =
      dense<[true, false, false]> : tensor<3xi1>},
        tensor<4xi1> {graph.name = "ints", graph.expect =
      dense<[false, true, false, true]> : tensor<4xi1>},
        tensor<2xi1> {graph.name = "longs", graph.expect = dense<[true, false]> : tensor<2xi1>},
        tensor<2xi1> {graph.name = "bytes", graph.expect = dense<[true, false]> : tensor<2xi1>},
        tensor<2xi1> {graph.name = "unsigned", graph.expect = dense<[false, true]> : tensor<2xi1>}) {
  // A row meets a column of matrices: [1, 7] with [3, 1, 1] is [3, 1, 7].
  // CHECK: broadcast: reference, unfused, fused agree
  %broadcast = graph.less %row, %columns : (tensor<1x7xf32>, tensor<3x1x1xf32>) -> tensor<3x1x7xi1>

  // A full vector and a tail of three.
  // CHECK: vectors: reference, unfused, fused agree
  %vectors = graph.less %x, %y : (tensor<19xf32>, tensor<19xf32>) -> tensor<19xi1>

  // A tensor of rank 0 goes with every element, also on the left.
  // CHECK: scalar: reference, unfused, fused agree
  %scalar = graph.less %one, %x : (tensor<f32>, tensor<19xf32>) -> tensor<19xi1>

  // With NaN nothing holds, not even equality; -0.0 equals 0.0.
  // CHECK: edges: reference, unfused, fused agree
  %edges = graph.less %a, %b : (tensor<5xf32>, tensor<5xf32>) -> tensor<5xi1>

  // Double precision, to twelve digits.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.less %d, %d2 : (tensor<3xf64>, tensor<3xf64>) -> tensor<3xi1>

  // Computed in f32, rounded to f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.less %h, %h2 : (tensor<3xf16>, tensor<3xf16>) -> tensor<3xi1>

  // The same with bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.less %m, %m2 : (tensor<3xbf16>, tensor<3xbf16>) -> tensor<3xi1>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.less %i, %i2 : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>

  // Numbers that differ only beyond the digits of an f32.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.less %l, %l2 : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>

  // 8 bits.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.less %c, %c2 : (tensor<2xi8>, tensor<2xi8>) -> tensor<2xi1>

  // 255 is more than 1.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.less %u, %u2 : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>

  func.return %broadcast, %vectors, %scalar, %edges, %double, %half, %brain, %ints, %longs, %bytes, %unsigned
    : tensor<3x1x7xi1>, tensor<19xi1>, tensor<19xi1>, tensor<5xi1>, tensor<3xi1>, tensor<3xi1>,
      tensor<3xi1>, tensor<4xi1>, tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}
