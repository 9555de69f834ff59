// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %one: tensor<1x2x3xf32> {graph.name = "one", graph.value =
      dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf32>},
    %x: tensor<1x8x6xf32> {graph.name = "x", graph.value =
      dense<[[[-5.0, 2.0, -2.0, 5.0, 1.0, -3.0], [4.0, 0.0, -4.0, 3.0, -1.0, -5.0], [2.0,
             -2.0, 5.0, 1.0, -3.0, 4.0], [0.0, -4.0, 3.0, -1.0, -5.0, 2.0], [-2.0, 5.0,
             1.0, -3.0, 4.0, 0.0], [-4.0, 3.0, -1.0, -5.0, 2.0, -2.0], [5.0, 1.0, -3.0,
             4.0, 0.0, -4.0], [3.0, -1.0, -5.0, 2.0, -2.0, 5.0]]]> : tensor<1x8x6xf32>},
    %i: tensor<1x2x3xi32> {graph.name = "i", graph.value =
      dense<[[[1, 2, 3], [4, 5, 6]]]> : tensor<1x2x3xi32>},
    %u: tensor<1x2x3xui8> {graph.name = "u", graph.value =
      dense<[[[200, 200, 200], [200, 200, 200]]]> : tensor<1x2x3xui8>},
    %v: tensor<1x8x2xf32> {graph.name = "v", graph.value =
      dense<[[[0.0, 3.0], [6.0, 2.0], [5.0, 1.0], [4.0, 0.0], [3.0, 6.0], [2.0, 5.0], [1.0,
             4.0], [0.0, 3.0]]]> : tensor<1x8x2xf32>},
    %d: tensor<1x2x3xf64> {graph.name = "d", graph.value =
      dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf64>},
    %h: tensor<1x2x3xf16> {graph.name = "h", graph.value =
      dense<[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]]> : tensor<1x2x3xf16>})
    -> (tensor<1x1x4xf32> {graph.name = "line", graph.expect =
      dense<[[[1.0, 6.0, 8.0, 6.0]]]> : tensor<1x1x4xf32>},
        tensor<1x1x8xf32> {graph.name = "apart", graph.expect =
      dense<[[[1.0, 4.0, 0.0, 2.0, 5.0, 0.0, 3.0, 6.0]]]> : tensor<1x1x8xf32>},
        tensor<1x1x5xf32> {graph.name = "dilated", graph.expect =
      dense<[[[1.0, 2.0, 7.0, 5.0, 6.0]]]> : tensor<1x1x5xf32>},
        tensor<1x1x2xf32> {graph.name = "padded", graph.expect =
      dense<[[[6.0, 8.0]]]> : tensor<1x1x2xf32>},
        tensor<1x2x3x4xf32> {graph.name = "picture", graph.expect =
      dense<[[[[-5.0, 6.0, -2.0, -4.0], [7.0, 2.0, -3.0, -2.0], [1.0, -4.0, -1.0, 2.0]],
             [[-2.0, 1.0, 4.0, -1.0], [2.0, 3.0, -2.0, -7.0], [4.0, 2.0, -6.0, 5.0]]]]>
             : tensor<1x2x3x4xf32>},
        tensor<1x2x4x3xf32> {graph.name = "strided", graph.expect =
      dense<[[[[6.0, -2.0, -4.0], [-2.0, 1.0, 3.0], [4.0, -4.0, -5.0], [-4.0, -1.0, 2.0]],
             [[1.0, 4.0, -1.0], [4.0, -4.0, -5.0], [-1.0, 2.0, -2.0], [2.0, -6.0,
             5.0]]]]> : tensor<1x2x4x3xf32>},
        tensor<1x1x9x2xf32> {graph.name = "far", graph.expect =
      dense<[[[[-5.0, 4.0], [4.0, 0.0], [-6.0, -12.0], [20.0, 12.0], [4.0, -4.0], [-12.0,
             -20.0], [12.0, 6.0], [0.0, -4.0], [-4.0, 5.0]]]]> : tensor<1x1x9x2xf32>},
        tensor<1x1x2x2x3xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[0.0, 9.0, 2.0], [5.0, 5.0, 0.0]], [[3.0, 8.0, 5.0], [1.0, 4.0, 3.0]]]]]> :
             tensor<1x1x2x2x3xf32>},
        tensor<1x1x4xi32> {graph.name = "ints", graph.expect =
      dense<[[[1, 6, 8, 6]]]> : tensor<1x1x4xi32>},
        tensor<1x1x4xui8> {graph.name = "bytes", graph.expect =
      dense<[[[200, 144, 144, 200]]]> : tensor<1x1x4xui8>},
        tensor<1x1x4xf64> {graph.name = "double", graph.expect =
      dense<[[[1.0, 6.0, 8.0, 6.0]]]> : tensor<1x1x4xf64>},
        tensor<1x1x4xf16> {graph.name = "halves", graph.expect =
      dense<[[[1.0, 6.0, 8.0, 6.0]]]> : tensor<1x1x4xf16>}) {
  // Windows of two see 1 4, 2 5 and 3 6: 1, 4 + 2, 5 + 3, 6.
  // CHECK: line: reference, unfused, fused agree
  %line = graph.col2im %one
    {shape = array<i64: 4>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0,
     0>, dilations = array<i64: 1>}
    : (tensor<1x2x3xf32>) -> tensor<1x1x4xf32>

  // Windows that don't touch.
  // CHECK: apart: reference, unfused, fused agree
  %apart = graph.col2im %one
    {shape = array<i64: 8>, kernel = array<i64: 2>, strides = array<i64: 3>, pads = array<i64: 0,
     0>, dilations = array<i64: 1>}
    : (tensor<1x2x3xf32>) -> tensor<1x1x8xf32>

  // Taps two apart.
  // CHECK: dilated: reference, unfused, fused agree
  %dilated = graph.col2im %one
    {shape = array<i64: 5>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0,
     0>, dilations = array<i64: 2>}
    : (tensor<1x2x3xf32>) -> tensor<1x1x5xf32>

  // What lies in the padding is dropped.
  // CHECK: padded: reference, unfused, fused agree
  %padded = graph.col2im %one
    {shape = array<i64: 2>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 1,
     1>, dilations = array<i64: 1>}
    : (tensor<1x2x3xf32>) -> tensor<1x1x2xf32>

  // Two channels of a picture.
  // CHECK: picture: reference, unfused, fused agree
  %picture = graph.col2im %x
    {shape = array<i64: 3, 4>, kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads =
     array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x8x6xf32>) -> tensor<1x2x3x4xf32>

  // Rows two apart, with padding.
  // CHECK: strided: reference, unfused, fused agree
  %strided = graph.col2im %x
    {shape = array<i64: 4, 3>, kernel = array<i64: 2, 2>, strides = array<i64: 2, 1>, pads =
     array<i64: 0, 1, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x8x6xf32>) -> tensor<1x2x4x3xf32>

  // A large window.
  // CHECK: far: reference, unfused, fused agree
  %far = graph.col2im %x
    {shape = array<i64: 9, 2>, kernel = array<i64: 4, 2>, strides = array<i64: 1, 1>, pads =
     array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>}
    : (tensor<1x8x6xf32>) -> tensor<1x1x9x2xf32>

  // Three dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.col2im %v
    {shape = array<i64: 2, 2, 3>, kernel = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>, pads
     = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>}
    : (tensor<1x8x2xf32>) -> tensor<1x1x2x2x3xf32>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.col2im %i
    {shape = array<i64: 4>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0,
     0>, dilations = array<i64: 1>}
    : (tensor<1x2x3xi32>) -> tensor<1x1x4xi32>

  // 200 + 200 is 144 in 8 bits.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.col2im %u
    {shape = array<i64: 4>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0,
     0>, dilations = array<i64: 1>}
    : (tensor<1x2x3xui8>) -> tensor<1x1x4xui8>

  // 64-bit floats.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.col2im %d
    {shape = array<i64: 4>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0,
     0>, dilations = array<i64: 1>}
    : (tensor<1x2x3xf64>) -> tensor<1x1x4xf64>

  // 16-bit floats.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.col2im %h
    {shape = array<i64: 4>, kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0,
     0>, dilations = array<i64: 1>}
    : (tensor<1x2x3xf16>) -> tensor<1x1x4xf16>

  func.return %line, %apart, %dilated, %padded, %picture, %strided, %far, %volume, %ints, %bytes, %double, %halves
    : tensor<1x1x4xf32>, tensor<1x1x8xf32>, tensor<1x1x5xf32>, tensor<1x1x2xf32>, tensor<1x2x3x4xf32>, tensor<1x2x4x3xf32>, tensor<1x1x9x2xf32>, tensor<1x1x2x2x3xf32>, tensor<1x1x4xi32>, tensor<1x1x4xui8>, tensor<1x1x4xf64>, tensor<1x1x4xf16>
}
