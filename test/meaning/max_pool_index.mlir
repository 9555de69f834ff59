// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<1x2x4x5xf32> {graph.name = "x", graph.value =
      dense<[[[[0.0, 7.0, 3.0, 10.0, 6.0], [2.0, 9.0, 5.0, 1.0, 8.0], [4.0, 0.0, 7.0, 3.0,
             10.0], [6.0, 2.0, 9.0, 5.0, 1.0]], [[8.0, 4.0, 0.0, 7.0, 3.0], [10.0, 6.0,
             2.0, 9.0, 5.0], [1.0, 8.0, 4.0, 0.0, 7.0], [3.0, 10.0, 6.0, 2.0, 9.0]]]]> :
             tensor<1x2x4x5xf32>},
    %xl: tensor<1x4x5x2xf32> {graph.name = "xl", graph.value =
      dense<[[[[0.0, 8.0], [7.0, 4.0], [3.0, 0.0], [10.0, 7.0], [6.0, 3.0]], [[2.0, 10.0],
             [9.0, 6.0], [5.0, 2.0], [1.0, 9.0], [8.0, 5.0]], [[4.0, 1.0], [0.0, 8.0],
             [7.0, 4.0], [3.0, 0.0], [10.0, 7.0]], [[6.0, 3.0], [2.0, 10.0], [9.0, 6.0],
             [5.0, 2.0], [1.0, 9.0]]]]> : tensor<1x4x5x2xf32>},
    %line: tensor<1x1x7xf32> {graph.name = "line", graph.value =
      dense<[[[3.0, 1.0, 3.0, 2.0, 5.0, 5.0, 4.0]]]> : tensor<1x1x7xf32>},
    %n: tensor<1x1x6xf32> {graph.name = "n", graph.value =
      dense<[[[1.0, 0x7FC00000, 3.0, 0x7FC00000, 0xFF800000, 0xFF800000]]]> :
             tensor<1x1x6xf32>},
    %v: tensor<1x1x2x3x4xf32> {graph.name = "v", graph.value =
      dense<[[[[[0.0, 5.0, 3.0, 1.0], [6.0, 4.0, 2.0, 0.0], [5.0, 3.0, 1.0, 6.0]], [[4.0, 2.0,
             0.0, 5.0], [3.0, 1.0, 6.0, 4.0], [2.0, 0.0, 5.0, 3.0]]]]]> :
             tensor<1x1x2x3x4xf32>},
    %i: tensor<1x1x4xi32> {graph.name = "i", graph.value =
      dense<[[[-5, -3, -3, -9]]]> : tensor<1x1x4xi32>},
    %u: tensor<1x1x4xui8> {graph.name = "u", graph.value =
      dense<[[[0, 200, 0, 7]]]> : tensor<1x1x4xui8>},
    %h: tensor<1x1x4xf16> {graph.name = "h", graph.value =
      dense<[[[1.0, 2.5, -1.0, 3.0]]]> : tensor<1x1x4xf16>},
    %d: tensor<1x1x4xf64> {graph.name = "d", graph.value =
      dense<[[[1.0, 2.5, -1.0, 3.0]]]> : tensor<1x1x4xf64>})
    -> (tensor<1x1x6xi64> {graph.name = "pairs", graph.expect =
      dense<[[[0, 2, 2, 4, 4, 5]]]> : tensor<1x1x6xi64>},
        tensor<1x2x2x2xi64> {graph.name = "planes", graph.expect =
      dense<[[[[6, 3], [15, 17]], [[25, 28], [36, 37]]]]> : tensor<1x2x2x2xi64>},
        tensor<1x2x2x2xi64> {graph.name = "planes_last", graph.expect =
      dense<[[[[6, 25], [3, 28]], [[15, 36], [17, 37]]]]> : tensor<1x2x2x2xi64>},
        tensor<1x2x2x2xi64> {graph.name = "columns", graph.expect =
      dense<[[[[5, 12], [3, 11]], [[21, 33], [27, 31]]]]> : tensor<1x2x2x2xi64>},
        tensor<1x2x2x2xi64> {graph.name = "padded", graph.expect =
      dense<[[[[3, 3], [6, 6]], [[28, 28], [36, 36]]]]> : tensor<1x2x2x2xi64>},
        tensor<1x2x2x2xi64> {graph.name = "ceiling", graph.expect =
      dense<[[[[6, 25], [3, 28]], [[17, 36], [17, 39]]]]> : tensor<1x2x2x2xi64>},
        tensor<1x1x1x2x3xi64> {graph.name = "volume", graph.expect =
      dense<[[[[[4, 18, 18], [4, 18, 11]]]]]> : tensor<1x1x1x2x3xi64>},
        tensor<1x1x2x2x2xi64> {graph.name = "volume_columns", graph.expect =
      dense<[[[[[2, 12], [2, 22]], [[1, 15], [3, 15]]]]]> : tensor<1x1x2x2x2xi64>},
        tensor<1x1x5xi64> {graph.name = "nan", graph.expect =
      dense<[[[1, 1, 3, 3, 4]]]> : tensor<1x1x5xi64>},
        tensor<1x1x10xi64> {graph.name = "nothing", graph.expect =
      dense<[[[-1, -1, 0, 1, 2, 3, 4, 5, 6, -1]]]> : tensor<1x1x10xi64>},
        tensor<1x1x4xi64> {graph.name = "ints", graph.expect =
      dense<[[[0, 1, 1, 2]]]> : tensor<1x1x4xi64>},
        tensor<1x1x3xi64> {graph.name = "unsigned", graph.expect =
      dense<[[[0, 1, 3]]]> : tensor<1x1x3xi64>},
        tensor<1x1x2xi64> {graph.name = "halves", graph.expect =
      dense<[[[1, 3]]]> : tensor<1x1x2xi64>},
        tensor<1x1x2xi64> {graph.name = "double", graph.expect =
      dense<[[[1, 3]]]> : tensor<1x1x2xi64>}) {
  // The first of each pair of 3 1, 1 3, 3 2, 2 5, 5 5 and 5 4 that is largest: 0, 2, 2, 4, 4, 5.
  // CHECK: pairs: reference, unfused, fused agree
  %pairs = graph.max_pool_index %line
    {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x7xf32>) -> tensor<1x1x6xi64>

  // Numbers count through batch, channels and space: the second channel's begin at 20.
  // CHECK: planes: reference, unfused, fused agree
  %planes = graph.max_pool_index %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations
     = array<i64: 1, 1>, layout = "NCHW"}
    : (tensor<1x2x4x5xf32>) -> tensor<1x2x2x2xi64>

  // The same with the channels last, which changes where numbers stand but not what they are.
  // CHECK: planes_last: reference, unfused, fused agree
  %planes_last = graph.max_pool_index %xl
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations
     = array<i64: 1, 1>, layout = "NHWC"}
    : (tensor<1x4x5x2xf32>) -> tensor<1x2x2x2xi64>

  // Rows fastest: element (1, 2) of a plane of 4 x 5 is 9 and not 7.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.max_pool_index %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations
     = array<i64: 1, 1>, layout = "NCHW", column_major}
    : (tensor<1x2x4x5xf32>) -> tensor<1x2x2x2xi64>

  // Padding is not counted.
  // CHECK: padded: reference, unfused, fused agree
  %padded = graph.max_pool_index %x
    {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations
     = array<i64: 1, 2>, layout = "NCHW"}
    : (tensor<1x2x4x5xf32>) -> tensor<1x2x2x2xi64>

  // A last window that hangs over the end.
  // CHECK: ceiling: reference, unfused, fused agree
  %ceiling = graph.max_pool_index %xl
    {kernel = array<i64: 2, 3>, strides = array<i64: 3, 2>, pads = array<i64: 0, 0, 0, 0>, dilations
     = array<i64: 1, 1>, ceil_mode, layout = "NHWC"}
    : (tensor<1x4x5x2xf32>) -> tensor<1x2x2x2xi64>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.max_pool_index %v
    {kernel = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0,
     0>, dilations = array<i64: 1, 1, 1>, layout = "NCHW"}
    : (tensor<1x1x2x3x4xf32>) -> tensor<1x1x1x2x3xi64>

  // Three spatial dimensions, the first one fastest.
  // CHECK: volume_columns: reference, unfused, fused agree
  %volume_columns = graph.max_pool_index %v
    {kernel = array<i64: 1, 2, 2>, strides = array<i64: 1, 1, 2>, pads = array<i64: 0, 0, 0, 0, 0,
     0>, dilations = array<i64: 1, 1, 1>, layout = "NCHW", column_major}
    : (tensor<1x1x2x3x4xf32>) -> tensor<1x1x2x2x2xi64>

  // A NaN beats all numbers and the NaNs behind it; minus infinity is found where there is nothing else.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.max_pool_index %n
    {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x6xf32>) -> tensor<1x1x5xi64>

  // A window that covers nothing but padding has no element.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.max_pool_index %line
    {kernel = array<i64: 1>, strides = array<i64: 1>, pads = array<i64: 2, 1>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x7xf32>) -> tensor<1x1x10xi64>

  // Negative numbers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.max_pool_index %i
    {kernel = array<i64: 2>, strides = array<i64: 1>, pads = array<i64: 1, 0>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x4xi32>) -> tensor<1x1x4xi64>

  // Zeros of an unsigned type are found though nothing is below them.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.max_pool_index %u
    {kernel = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x4xui8>) -> tensor<1x1x3xi64>

  // 16-bit floats.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.max_pool_index %h
    {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x4xf16>) -> tensor<1x1x2xi64>

  // 64-bit floats.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.max_pool_index %d
    {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations =
     array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x4xf64>) -> tensor<1x1x2xi64>

  func.return %pairs, %planes, %planes_last, %columns, %padded, %ceiling, %volume, %volume_columns, %nan, %nothing, %ints, %unsigned, %halves, %double
    : tensor<1x1x6xi64>, tensor<1x2x2x2xi64>, tensor<1x2x2x2xi64>, tensor<1x2x2x2xi64>, tensor<1x2x2x2xi64>, tensor<1x2x2x2xi64>, tensor<1x1x1x2x3xi64>, tensor<1x1x2x2x2xi64>, tensor<1x1x5xi64>, tensor<1x1x10xi64>, tensor<1x1x4xi64>, tensor<1x1x3xi64>, tensor<1x1x2xi64>, tensor<1x1x2xi64>
}
