// RUN: mini-opt %s -t check | filecheck %s

// Expected values that aren't done by hand come from ONNX Runtime.

func.func @main(
    %x: tensor<1x1x4x5xf32> {graph.name = "x", graph.value =
      dense<[[[[1.0, 8.0, 3.0, 4.0, 2.0], [5.0, 6.0, -7.0, 0.0, 1.0],
             [9.0, -2.0, 4.0, 4.0, -8.0], [3.0, 2.0, 1.0, 7.0, 6.0]]]]> : tensor<1x1x4x5xf32>},
    %xl: tensor<1x4x5x1xf32> {graph.name = "xl", graph.value =
      dense<[[[[1.0], [8.0], [3.0], [4.0], [2.0]], [[5.0], [6.0], [-7.0], [0.0], [1.0]],
             [[9.0], [-2.0], [4.0], [4.0], [-8.0]], [[3.0], [2.0], [1.0], [7.0], [6.0]]]]> : tensor<1x4x5x1xf32>},
    %neg: tensor<1x1x3x3xf32> {graph.name = "neg", graph.value =
      dense<-1.0> : tensor<1x1x3x3xf32>},
    %negl: tensor<1x3x3x1xf32> {graph.name = "negl", graph.value =
      dense<-1.0> : tensor<1x3x3x1xf32>},
    %c: tensor<1x3x3x3xf32> {graph.name = "c", graph.value =
      dense<[[[[1.0, 8.0, 3.0], [5.0, 6.0, -7.0], [9.0, -2.0, 4.0]], [[-1.0, -8.0, -3.0],
             [-5.0, -6.0, 7.0], [-9.0, 2.0, -4.0]], [[2.0, 16.0, 6.0], [10.0, 12.0, -14.0],
             [18.0, -4.0, 8.0]]]]> : tensor<1x3x3x3xf32>},
    %cl: tensor<1x3x3x3xf32> {graph.name = "cl", graph.value =
      dense<[[[[1.0, -1.0, 2.0], [8.0, -8.0, 16.0], [3.0, -3.0, 6.0]], [[5.0, -5.0, 10.0],
             [6.0, -6.0, 12.0], [-7.0, 7.0, -14.0]], [[9.0, -9.0, 18.0], [-2.0, 2.0, -4.0],
             [4.0, -4.0, 8.0]]]]> : tensor<1x3x3x3xf32>},
    %line: tensor<1x1x41xf32> {graph.name = "line", graph.value =
      dense<[[[0.0, 7.0, 14.0, 21.0, 5.0, 12.0, 19.0, 3.0, 10.0, 17.0, 1.0, 8.0, 15.0,
             22.0, 6.0, 13.0, 20.0, 4.0, 11.0, 18.0, 2.0, 9.0, 16.0, 0.0, 7.0, 14.0, 21.0,
             5.0, 12.0, 19.0, 3.0, 10.0, 17.0, 1.0, 8.0, 15.0, 22.0, 6.0, 13.0, 20.0, 4.0]]]> : tensor<1x1x41xf32>},
    %v: tensor<1x1x3x3x3xf32> {graph.name = "v", graph.value =
      dense<[[[[[0.0, 11.0, 22.0], [6.0, 17.0, 1.0], [12.0, 23.0, 7.0]],
             [[18.0, 2.0, 13.0], [24.0, 8.0, 19.0], [3.0, 14.0, 25.0]], [[9.0, 20.0, 4.0],
             [15.0, 26.0, 10.0], [21.0, 5.0, 16.0]]]]]> : tensor<1x1x3x3x3xf32>},
    %vl: tensor<1x3x3x3x1xf32> {graph.name = "vl", graph.value =
      dense<[[[[[0.0], [11.0], [22.0]], [[6.0], [17.0], [1.0]], [[12.0], [23.0], [7.0]]],
             [[[18.0], [2.0], [13.0]], [[24.0], [8.0], [19.0]], [[3.0], [14.0], [25.0]]],
             [[[9.0], [20.0], [4.0]], [[15.0], [26.0], [10.0]], [[21.0], [5.0], [16.0]]]]]> : tensor<1x3x3x3x1xf32>},
    %n: tensor<1x1x3x3xf32> {graph.name = "n", graph.value =
      dense<[[[[0x7FC00000, 1.0, 2.0], [3.0, 0xFF800000, 0xFF800000],
             [4.0, 0xFF800000, 0xFF800000]]]]> : tensor<1x1x3x3xf32>},
    %i: tensor<1x1x2x2xi32> {graph.name = "i", graph.value =
      dense<[[[[-5, -3], [-9, -4]]]]> : tensor<1x1x2x2xi32>},
    %l: tensor<1x1x2x2xi64> {graph.name = "l", graph.value =
      dense<[[[[-5, -3], [-9, -4]]]]> : tensor<1x1x2x2xi64>},
    %c8: tensor<1x1x2x2xi8> {graph.name = "c8", graph.value =
      dense<[[[[-5, -3], [-9, -4]]]]> : tensor<1x1x2x2xi8>},
    %d: tensor<1x1x2x2xf64> {graph.name = "d", graph.value =
      dense<[[[[-5.0, -3.0], [-9.0, -4.0]]]]> : tensor<1x1x2x2xf64>},
    %h: tensor<1x1x2x2xf16> {graph.name = "h", graph.value =
      dense<[[[[-5.0, -3.0], [-9.0, -4.0]]]]> : tensor<1x1x2x2xf16>},
    %b: tensor<1x1x2x2xbf16> {graph.name = "b", graph.value =
      dense<[[[[-5.0, -3.0], [-9.0, -4.0]]]]> : tensor<1x1x2x2xbf16>},
    %u: tensor<1x1x2x2xui8> {graph.name = "u", graph.value =
      dense<[[[[200, 3], [100, 4]]]]> : tensor<1x1x2x2xui8>})
    -> (tensor<1x1x2x2xf32> {graph.name = "by_hand", graph.expect =
      dense<[[[[8.0, 4.0], [9.0, 7.0]]]]> : tensor<1x1x2x2xf32>},
        tensor<1x1x2x4xf32> {graph.name = "sliding", graph.expect =
      dense<[[[[9.0, 8.0, 4.0, 4.0], [9.0, 6.0, 7.0, 7.0]]]]> : tensor<1x1x2x4xf32>},
        tensor<1x2x4x1xf32> {graph.name = "sliding_last", graph.expect =
      dense<[[[[9.0], [8.0], [4.0], [4.0]], [[9.0], [6.0], [7.0], [7.0]]]]> : tensor<1x2x4x1xf32>},
        tensor<1x1x3x3xf32> {graph.name = "padded", graph.expect =
      dense<-1.0> : tensor<1x1x3x3xf32>},
        tensor<1x3x3x1xf32> {graph.name = "padded_last", graph.expect =
      dense<-1.0> : tensor<1x3x3x1xf32>},
        tensor<1x1x2x3xf32> {graph.name = "asymmetric", graph.expect =
      dense<[[[[8.0, 4.0, 2.0], [9.0, 4.0, 1.0]]]]> : tensor<1x1x2x3xf32>},
        tensor<1x2x3x1xf32> {graph.name = "asymmetric_last", graph.expect =
      dense<[[[[8.0], [4.0], [2.0]], [[9.0], [4.0], [1.0]]]]> : tensor<1x2x3x1xf32>},
        tensor<1x1x2x3xf32> {graph.name = "dilated", graph.expect =
      dense<[[[[9.0, 8.0, 4.0], [5.0, 7.0, 6.0]]]]> : tensor<1x1x2x3xf32>},
        tensor<1x2x3x1xf32> {graph.name = "dilated_last", graph.expect =
      dense<[[[[9.0], [8.0], [4.0]], [[5.0], [7.0], [6.0]]]]> : tensor<1x2x3x1xf32>},
        tensor<1x1x2x3xf32> {graph.name = "ceiling", graph.expect =
      dense<[[[[8.0, 4.0, 2.0], [9.0, 7.0, 6.0]]]]> : tensor<1x1x2x3xf32>},
        tensor<1x2x3x1xf32> {graph.name = "ceiling_last", graph.expect =
      dense<[[[[8.0], [4.0], [2.0]], [[9.0], [7.0], [6.0]]]]> : tensor<1x2x3x1xf32>},
        tensor<1x1x2x2xf32> {graph.name = "ceiling_in_pad", graph.expect =
      dense<[[[[8.0, 4.0], [9.0, 7.0]]]]> : tensor<1x1x2x2xf32>},
        tensor<1x3x2x2xf32> {graph.name = "channels", graph.expect =
      dense<[[[[8.0, 8.0], [9.0, 6.0]], [[-1.0, 7.0], [2.0, 7.0]], [[16.0, 16.0],
             [18.0, 12.0]]]]> : tensor<1x3x2x2xf32>},
        tensor<1x2x2x3xf32> {graph.name = "channels_last", graph.expect =
      dense<[[[[8.0, -1.0, 16.0], [8.0, 7.0, 16.0]], [[9.0, 2.0, 18.0], [6.0, 7.0, 12.0]]]]> : tensor<1x2x2x3xf32>},
        tensor<1x1x41xf32> {graph.name = "line_pool", graph.expect =
      dense<[[[7.0, 14.0, 21.0, 21.0, 21.0, 19.0, 19.0, 19.0, 17.0, 17.0, 17.0, 15.0, 22.0,
             22.0, 22.0, 20.0, 20.0, 20.0, 18.0, 18.0, 18.0, 16.0, 16.0, 16.0, 14.0, 21.0,
             21.0, 21.0, 19.0, 19.0, 19.0, 17.0, 17.0, 17.0, 15.0, 22.0, 22.0, 22.0, 20.0,
             20.0, 20.0]]]> : tensor<1x1x41xf32>},
        tensor<1x1x14xf32> {graph.name = "line_strided", graph.expect =
      dense<[[[21.0, 21.0, 19.0, 17.0, 22.0, 20.0, 18.0, 16.0, 21.0, 19.0, 17.0, 22.0,
             22.0, 20.0]]]> : tensor<1x1x14xf32>},
        tensor<1x1x2x2x2xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[24.0, 22.0], [24.0, 25.0]], [[26.0, 26.0], [26.0, 26.0]]]]]> : tensor<1x1x2x2x2xf32>},
        tensor<1x2x2x2x1xf32> {graph.name = "volume_last", graph.expect =
      dense<[[[[[24.0], [22.0]], [[24.0], [25.0]]], [[[26.0], [26.0]], [[26.0], [26.0]]]]]> : tensor<1x2x2x2x1xf32>},
        tensor<1x1x2x2xf32> {graph.name = "nan", graph.expect =
      dense<[[[[0x7FC00000, 2.0], [4.0, 0xFF800000]]]]> : tensor<1x1x2x2xf32>},
        tensor<1x1x3x3xi32> {graph.name = "ints", graph.expect =
      dense<[[[[-5, -3, -3], [-5, -3, -3], [-9, -4, -4]]]]> : tensor<1x1x3x3xi32>},
        tensor<1x1x3x3xi64> {graph.name = "longs", graph.expect =
      dense<[[[[-5, -3, -3], [-5, -3, -3], [-9, -4, -4]]]]> : tensor<1x1x3x3xi64>},
        tensor<1x1x3x3xi8> {graph.name = "bytes", graph.expect =
      dense<[[[[-5, -3, -3], [-5, -3, -3], [-9, -4, -4]]]]> : tensor<1x1x3x3xi8>},
        tensor<1x1x3x3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[-5.0, -3.0, -3.0], [-5.0, -3.0, -3.0], [-9.0, -4.0, -4.0]]]]> : tensor<1x1x3x3xf64>},
        tensor<1x1x3x3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[-5.0, -3.0, -3.0], [-5.0, -3.0, -3.0], [-9.0, -4.0, -4.0]]]]> : tensor<1x1x3x3xf16>},
        tensor<1x1x3x3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[[[-5.0, -3.0, -3.0], [-5.0, -3.0, -3.0], [-9.0, -4.0, -4.0]]]]> : tensor<1x1x3x3xbf16>},
        tensor<1x1x1x1xui8> {graph.name = "unsigned", graph.expect =
      dense<[[[[200]]]]> : tensor<1x1x1x1xui8>}) {
  // 2x2 windows that don't overlap; the fifth column is left over.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.max_pool %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x2xf32>

  // A window of three rows and two columns at every place.
  // CHECK: sliding: reference, unfused, fused agree
  %sliding = graph.max_pool %x
    {kernel = array<i64: 3, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x4xf32>

  // The same with channels last.
  // CHECK: sliding_last: reference, unfused, fused agree
  %sliding_last = graph.max_pool %xl
    {kernel = array<i64: 3, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x4x1xf32>

  // Padding counts as nothing, not as zero: all of -1 gives -1 at the border too.
  // CHECK: padded: reference, unfused, fused agree
  %padded = graph.max_pool %neg
    {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : tensor<1x1x3x3xf32>

  // The same with channels last.
  // CHECK: padded_last: reference, unfused, fused agree
  %padded_last = graph.max_pool %negl
    {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : tensor<1x3x3x1xf32>

  // Padding of one row above and two columns on the right, with strides.
  // CHECK: asymmetric: reference, unfused, fused agree
  %asymmetric = graph.max_pool %x
    {kernel = array<i64: 2, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 2>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>

  // The same with channels last.
  // CHECK: asymmetric_last: reference, unfused, fused agree
  %asymmetric_last = graph.max_pool %xl
    {kernel = array<i64: 2, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 2>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x3x1xf32>

  // Every second row and every second column.
  // CHECK: dilated: reference, unfused, fused agree
  %dilated = graph.max_pool %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 2, 2>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>

  // The same with channels last.
  // CHECK: dilated_last: reference, unfused, fused agree
  %dilated_last = graph.max_pool %xl
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x3x1xf32>

  // With ceil_mode a last window may hang over the end: it sees the fifth column alone.
  // CHECK: ceiling: reference, unfused, fused agree
  %ceiling = graph.max_pool %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, ceil_mode, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>

  // The same with channels last.
  // CHECK: ceiling_last: reference, unfused, fused agree
  %ceiling_last = graph.max_pool %xl
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x3x1xf32>

  // But no window starts in the end padding: two columns, not three.
  // CHECK: ceiling_in_pad: reference, unfused, fused agree
  %ceiling_in_pad = graph.max_pool %x
    {kernel = array<i64: 2, 3>, strides = array<i64: 2, 3>, pads = array<i64: 0, 0, 0, 1>,
     dilations = array<i64: 1, 1>, ceil_mode, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x2xf32>

  // Three channels: each has its own maximum.
  // CHECK: channels: reference, unfused, fused agree
  %channels = graph.max_pool %c
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x3x3x3xf32>) -> tensor<1x3x2x2xf32>

  // The same with channels last.
  // CHECK: channels_last: reference, unfused, fused agree
  %channels_last = graph.max_pool %cl
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x3x3x3xf32>) -> tensor<1x2x2x3xf32>

  // One spatial dimension: 41 elements, vectors and a tail.
  // CHECK: line_pool: reference, unfused, fused agree
  %line_pool = graph.max_pool %line
    {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>,
     layout = "NCHW"} : tensor<1x1x41xf32>

  // With a stride of 3.
  // CHECK: line_strided: reference, unfused, fused agree
  %line_strided = graph.max_pool %line
    {kernel = array<i64: 4>, strides = array<i64: 3>, pads = array<i64: 0, 2>, dilations = array<i64: 1>,
     layout = "NCHW"} : (tensor<1x1x41xf32>) -> tensor<1x1x14xf32>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.max_pool %v
    {kernel = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>,
     dilations = array<i64: 1, 1, 1>, layout = "NCHW"} : (tensor<1x1x3x3x3xf32>) -> tensor<1x1x2x2x2xf32>

  // The same with channels last.
  // CHECK: volume_last: reference, unfused, fused agree
  %volume_last = graph.max_pool %vl
    {kernel = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>,
     dilations = array<i64: 1, 1, 1>, layout = "NHWC"} : (tensor<1x3x3x3x1xf32>) -> tensor<1x2x2x2x1xf32>

  // NaN wins; a window of -infinity gives -infinity.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.max_pool %n
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>

  // Integers; padding is below all of them.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.max_pool %i
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xi32>) -> tensor<1x1x3x3xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.max_pool %l
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xi64>) -> tensor<1x1x3x3xi64>

  // 8 bits.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.max_pool %c8
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xi8>) -> tensor<1x1x3x3xi8>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.max_pool %d
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xf64>) -> tensor<1x1x3x3xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.max_pool %h
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xf16>) -> tensor<1x1x3x3xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.max_pool %b
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xbf16>) -> tensor<1x1x3x3xbf16>

  // 200 is no negative number here.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.max_pool %u
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xui8>) -> tensor<1x1x1x1xui8>

  func.return %by_hand, %sliding, %sliding_last, %padded, %padded_last, %asymmetric, %asymmetric_last, %dilated,
    %dilated_last, %ceiling, %ceiling_last, %ceiling_in_pad, %channels, %channels_last, %line_pool,
    %line_strided, %volume, %volume_last, %nan, %ints, %longs, %bytes, %double, %half, %brain,
    %unsigned
    : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32>, tensor<1x2x4x1xf32>, tensor<1x1x3x3xf32>,
      tensor<1x3x3x1xf32>, tensor<1x1x2x3xf32>, tensor<1x2x3x1xf32>, tensor<1x1x2x3xf32>,
      tensor<1x2x3x1xf32>, tensor<1x1x2x3xf32>, tensor<1x2x3x1xf32>, tensor<1x1x2x2xf32>,
      tensor<1x3x2x2xf32>, tensor<1x2x2x3xf32>, tensor<1x1x41xf32>, tensor<1x1x14xf32>,
      tensor<1x1x2x2x2xf32>, tensor<1x2x2x2x1xf32>, tensor<1x1x2x2xf32>, tensor<1x1x3x3xi32>,
      tensor<1x1x3x3xi64>, tensor<1x1x3x3xi8>, tensor<1x1x3x3xf64>, tensor<1x1x3x3xf16>,
      tensor<1x1x3x3xbf16>, tensor<1x1x1x1xui8>
}
