// RUN: mini-opt %s -t check | filecheck %s

// Expected values that aren't done by hand come from ONNX Runtime.

func.func @main(
    %x: tensor<1x1x4x5xf32> {graph.name = "x", graph.value =
      dense<[[[[1.0, 8.0, 3.0, 4.0, 2.0], [5.0, 6.0, -7.0, 0.0, 1.0],
             [9.0, -2.0, 4.0, 4.0, -8.0], [3.0, 2.0, 1.0, 7.0, 6.0]]]]> : tensor<1x1x4x5xf32>},
    %xl: tensor<1x4x5x1xf32> {graph.name = "xl", graph.value =
      dense<[[[[1.0], [8.0], [3.0], [4.0], [2.0]], [[5.0], [6.0], [-7.0], [0.0], [1.0]],
             [[9.0], [-2.0], [4.0], [4.0], [-8.0]], [[3.0], [2.0], [1.0], [7.0], [6.0]]]]> : tensor<1x4x5x1xf32>},
    %one: tensor<1x1x3x3xf32> {graph.name = "one", graph.value =
      dense<1.0> : tensor<1x1x3x3xf32>},
    %onel: tensor<1x3x3x1xf32> {graph.name = "onel", graph.value =
      dense<1.0> : tensor<1x3x3x1xf32>},
    %six: tensor<1x1x6xf32> {graph.name = "six", graph.value =
      dense<[[[2.0, 3.0, 4.0, 3.0, 0.0, 4.0]]]> : tensor<1x1x6xf32>},
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
      dense<[[[[0x7FC00000, 1.0, 2.0], [3.0, 0x7F800000, 0xFF800000], [4.0, 1.0, 2.0]]]]> : tensor<1x1x3x3xf32>},
    %d: tensor<1x1x2x2xf64> {graph.name = "d", graph.value =
      dense<[[[[40000.0, 40000.0], [-9.0, 9.0]]]]> : tensor<1x1x2x2xf64>},
    %h: tensor<1x1x2x2xf16> {graph.name = "h", graph.value =
      dense<[[[[40000.0, 40000.0], [-9.0, 9.0]]]]> : tensor<1x1x2x2xf16>},
    %b: tensor<1x1x2x2xbf16> {graph.name = "b", graph.value =
      dense<[[[[39940.0, 39940.0], [-9.0, 9.0]]]]> : tensor<1x1x2x2xbf16>})
    -> (tensor<1x1x2x2xf32> {graph.name = "by_hand", graph.expect =
      dense<[[[[5.0, 0.0], [3.0, 4.0]]]]> : tensor<1x1x2x2xf32>},
        tensor<1x1x2x4xf32> {graph.name = "sliding", graph.expect =
      dense<[[[[4.5, 2.0, 1.3333334, 0.5], [3.8333333, 0.6666667, 1.5, 1.6666666]]]]> : tensor<1x1x2x4xf32>},
        tensor<1x2x4x1xf32> {graph.name = "sliding_last", graph.expect =
      dense<[[[[4.5], [2.0], [1.3333334], [0.5]], [[3.8333333], [0.6666667], [1.5],
             [1.6666666]]]]> : tensor<1x2x4x1xf32>},
        tensor<1x1x3x3xf32> {graph.name = "not_counted", graph.expect =
      dense<1.0> : tensor<1x1x3x3xf32>},
        tensor<1x3x3x1xf32> {graph.name = "not_counted_last", graph.expect =
      dense<1.0> : tensor<1x3x3x1xf32>},
        tensor<1x1x3x3xf32> {graph.name = "counted", graph.expect =
      dense<[[[[0.44444445, 0.6666667, 0.44444445], [0.6666667, 1.0, 0.6666667],
             [0.44444445, 0.6666667, 0.44444445]]]]> : tensor<1x1x3x3xf32>},
        tensor<1x3x3x1xf32> {graph.name = "counted_last", graph.expect =
      dense<[[[[0.44444445], [0.6666667], [0.44444445]], [[0.6666667], [1.0], [0.6666667]],
             [[0.44444445], [0.6666667], [0.44444445]]]]> : tensor<1x3x3x1xf32>},
        tensor<1x1x2x3xf32> {graph.name = "asymmetric", graph.expect =
      dense<[[[[4.0, 3.0, 2.0], [2.5, -1.0, -3.5]]]]> : tensor<1x1x2x3xf32>},
        tensor<1x2x3x1xf32> {graph.name = "asymmetric_last", graph.expect =
      dense<[[[[4.0], [3.0], [2.0]], [[2.5], [-1.0], [-3.5]]]]> : tensor<1x2x3x1xf32>},
        tensor<1x1x2x3xf32> {graph.name = "dilated", graph.expect =
      dense<[[[[4.25, 3.5, 0.25], [0.5, 3.75, 0.25]]]]> : tensor<1x1x2x3xf32>},
        tensor<1x2x3x1xf32> {graph.name = "dilated_last", graph.expect =
      dense<[[[[4.25], [3.5], [0.25]], [[0.5], [3.75], [0.25]]]]> : tensor<1x2x3x1xf32>},
        tensor<1x1x2x3xf32> {graph.name = "ceiling", graph.expect =
      dense<[[[[5.0, 0.0, 1.5], [3.0, 4.0, -1.0]]]]> : tensor<1x1x2x3xf32>},
        tensor<1x2x3x1xf32> {graph.name = "ceiling_last", graph.expect =
      dense<[[[[5.0], [0.0], [1.5]], [[3.0], [4.0], [-1.0]]]]> : tensor<1x2x3x1xf32>},
        tensor<1x1x3xf32> {graph.name = "ceiling_counted", graph.expect =
      dense<[[[1.6666666, 2.3333333, 2.0]]]> : tensor<1x1x3xf32>},
        tensor<1x1x3xf32> {graph.name = "ceiling_not_counted", graph.expect =
      dense<[[[2.5, 2.3333333, 4.0]]]> : tensor<1x1x3xf32>},
        tensor<1x3x2x2xf32> {graph.name = "channels", graph.expect =
      dense<[[[[5.0, 2.5], [4.5, 0.25]], [[-5.0, -2.5], [-4.5, -0.25]], [[10.0, 5.0],
             [9.0, 0.5]]]]> : tensor<1x3x2x2xf32>},
        tensor<1x2x2x3xf32> {graph.name = "channels_last", graph.expect =
      dense<[[[[5.0, -5.0, 10.0], [2.5, -2.5, 5.0]], [[4.5, -4.5, 9.0],
             [0.25, -0.25, 0.5]]]]> : tensor<1x2x2x3xf32>},
        tensor<1x1x41xf32> {graph.name = "line_pool", graph.expect =
      dense<[[[3.5, 7.0, 14.0, 13.333333, 12.666667, 12.0, 11.333333, 10.666667, 10.0,
             9.333333, 8.666667, 8.0, 15.0, 14.333333, 13.666667, 13.0, 12.333333,
             11.666667, 11.0, 10.333333, 9.666667, 9.0, 8.333333, 7.6666665, 7.0, 14.0,
             13.333333, 12.666667, 12.0, 11.333333, 10.666667, 10.0, 9.333333, 8.666667,
             8.0, 15.0, 14.333333, 13.666667, 13.0, 12.333333, 12.0]]]> : tensor<1x1x41xf32>},
        tensor<1x1x14xf32> {graph.name = "line_strided", graph.expect =
      dense<[[[10.5, 14.25, 12.25, 10.25, 14.0, 12.0, 10.0, 8.0, 11.75, 9.75, 7.75, 11.5,
             15.25, 6.0]]]> : tensor<1x1x14xf32>},
        tensor<1x1x2x2x2xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[10.75, 11.625], [13.375, 14.25]], [[15.25, 12.75], [14.5, 15.375]]]]]> : tensor<1x1x2x2x2xf32>},
        tensor<1x2x2x2x1xf32> {graph.name = "volume_last", graph.expect =
      dense<[[[[[10.75], [11.625]], [[13.375], [14.25]]], [[[15.25], [12.75]], [[14.5],
             [15.375]]]]]> : tensor<1x2x2x2x1xf32>},
        tensor<1x1x2x2xf32> {graph.name = "nan", graph.expect =
      dense<[[[[0x7FC00000, 0x7FC00000], [0x7F800000, 0x7FC00000]]]]> : tensor<1x1x2x2xf32>},
        tensor<1x1x2x1xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[40000.0], [0.0]]]]> : tensor<1x1x2x1xf64>},
        tensor<1x1x2x1xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[40000.0], [0.0]]]]> : tensor<1x1x2x1xf16>},
        tensor<1x1x2x1xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[[[39940.0], [0.0]]]]> : tensor<1x1x2x1xbf16>}) {
  // 2x2 windows that don't overlap; the fifth column is left over.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.avg_pool %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x2xf32>

  // A window of three rows and two columns at every place.
  // CHECK: sliding: reference, unfused, fused agree
  %sliding = graph.avg_pool %x
    {kernel = array<i64: 3, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x4xf32>

  // The same with channels last.
  // CHECK: sliding_last: reference, unfused, fused agree
  %sliding_last = graph.avg_pool %xl
    {kernel = array<i64: 3, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x4x1xf32>

  // Padding isn't counted: the mean of ones is 1 at the border too.
  // CHECK: not_counted: reference, unfused, fused agree
  %not_counted = graph.avg_pool %one
    {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : tensor<1x1x3x3xf32>

  // The same with channels last.
  // CHECK: not_counted_last: reference, unfused, fused agree
  %not_counted_last = graph.avg_pool %onel
    {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : tensor<1x3x3x1xf32>

  // With count_include_pad it counts as zeros: 4 of 9 in a corner.
  // CHECK: counted: reference, unfused, fused agree
  %counted = graph.avg_pool %one
    {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, count_include_pad, layout = "NCHW"} : tensor<1x1x3x3xf32>

  // The same with channels last.
  // CHECK: counted_last: reference, unfused, fused agree
  %counted_last = graph.avg_pool %onel
    {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
     dilations = array<i64: 1, 1>, count_include_pad, layout = "NHWC"} : tensor<1x3x3x1xf32>

  // Padding of one row above and two columns on the right, with strides.
  // CHECK: asymmetric: reference, unfused, fused agree
  %asymmetric = graph.avg_pool %x
    {kernel = array<i64: 2, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 2>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>

  // The same with channels last.
  // CHECK: asymmetric_last: reference, unfused, fused agree
  %asymmetric_last = graph.avg_pool %xl
    {kernel = array<i64: 2, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 0, 2>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x3x1xf32>

  // Every second row and every second column.
  // CHECK: dilated: reference, unfused, fused agree
  %dilated = graph.avg_pool %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 2, 2>, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>

  // The same with channels last.
  // CHECK: dilated_last: reference, unfused, fused agree
  %dilated_last = graph.avg_pool %xl
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 2, 2>, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x3x1xf32>

  // With ceil_mode a last window may hang over the end: it sees the fifth column alone and divides by 2.
  // CHECK: ceiling: reference, unfused, fused agree
  %ceiling = graph.avg_pool %x
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, ceil_mode, layout = "NCHW"} : (tensor<1x1x4x5xf32>) -> tensor<1x1x2x3xf32>

  // The same with channels last.
  // CHECK: ceiling_last: reference, unfused, fused agree
  %ceiling_last = graph.avg_pool %xl
    {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC"} : (tensor<1x4x5x1xf32>) -> tensor<1x2x3x1xf32>

  // Counted, the last window sees one element and one of padding and divides by 2: what lies beyond the padding is
  // never counted.
  // CHECK: ceiling_counted: reference, unfused, fused agree
  %ceiling_counted = graph.avg_pool %six
    {kernel = array<i64: 3>, strides = array<i64: 3>, pads = array<i64: 1, 1>, dilations = array<i64: 1>,
     ceil_mode, count_include_pad, layout = "NCHW"} : (tensor<1x1x6xf32>) -> tensor<1x1x3xf32>

  // Not counted, only the element is.
  // CHECK: ceiling_not_counted: reference, unfused, fused agree
  %ceiling_not_counted = graph.avg_pool %six
    {kernel = array<i64: 3>, strides = array<i64: 3>, pads = array<i64: 1, 1>, dilations = array<i64: 1>,
     ceil_mode, layout = "NCHW"} : (tensor<1x1x6xf32>) -> tensor<1x1x3xf32>

  // Three channels: each has its own mean.
  // CHECK: channels: reference, unfused, fused agree
  %channels = graph.avg_pool %c
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x3x3x3xf32>) -> tensor<1x3x2x2xf32>

  // The same with channels last.
  // CHECK: channels_last: reference, unfused, fused agree
  %channels_last = graph.avg_pool %cl
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x3x3x3xf32>) -> tensor<1x2x2x3xf32>

  // One spatial dimension: 41 elements, vectors and a tail.
  // CHECK: line_pool: reference, unfused, fused agree
  %line_pool = graph.avg_pool %line
    {kernel = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>,
     layout = "NCHW"} : tensor<1x1x41xf32>

  // With a stride of 3, padding counted.
  // CHECK: line_strided: reference, unfused, fused agree
  %line_strided = graph.avg_pool %line
    {kernel = array<i64: 4>, strides = array<i64: 3>, pads = array<i64: 0, 2>, dilations = array<i64: 1>,
     count_include_pad, layout = "NCHW"} : (tensor<1x1x41xf32>) -> tensor<1x1x14xf32>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.avg_pool %v
    {kernel = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>,
     dilations = array<i64: 1, 1, 1>, layout = "NCHW"} : (tensor<1x1x3x3x3xf32>) -> tensor<1x1x2x2x2xf32>

  // The same with channels last.
  // CHECK: volume_last: reference, unfused, fused agree
  %volume_last = graph.avg_pool %vl
    {kernel = array<i64: 2, 2, 2>, strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>,
     dilations = array<i64: 1, 1, 1>, layout = "NHWC"} : (tensor<1x3x3x3x1xf32>) -> tensor<1x2x2x2x1xf32>

  // NaN and infinities of both signs give NaN.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.avg_pool %n
    {kernel = array<i64: 2, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x3x3xf32>) -> tensor<1x1x2x2xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.avg_pool %d
    {kernel = array<i64: 1, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xf64>) -> tensor<1x1x2x1xf64>

  // f16: the sum of 40000 and 40000 would be infinite.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.avg_pool %h
    {kernel = array<i64: 1, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xf16>) -> tensor<1x1x2x1xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.avg_pool %b
    {kernel = array<i64: 1, 2>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
     dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x1x2x2xbf16>) -> tensor<1x1x2x1xbf16>

  func.return %by_hand, %sliding, %sliding_last, %not_counted, %not_counted_last, %counted, %counted_last,
    %asymmetric, %asymmetric_last, %dilated, %dilated_last, %ceiling, %ceiling_last,
    %ceiling_counted, %ceiling_not_counted, %channels, %channels_last, %line_pool, %line_strided,
    %volume, %volume_last, %nan, %double, %half, %brain
    : tensor<1x1x2x2xf32>, tensor<1x1x2x4xf32>, tensor<1x2x4x1xf32>, tensor<1x1x3x3xf32>,
      tensor<1x3x3x1xf32>, tensor<1x1x3x3xf32>, tensor<1x3x3x1xf32>, tensor<1x1x2x3xf32>,
      tensor<1x2x3x1xf32>, tensor<1x1x2x3xf32>, tensor<1x2x3x1xf32>, tensor<1x1x2x3xf32>,
      tensor<1x2x3x1xf32>, tensor<1x1x3xf32>, tensor<1x1x3xf32>, tensor<1x3x2x2xf32>,
      tensor<1x2x2x3xf32>, tensor<1x1x41xf32>, tensor<1x1x14xf32>, tensor<1x1x2x2x2xf32>,
      tensor<1x2x2x2x1xf32>, tensor<1x1x2x2xf32>, tensor<1x1x2x1xf64>, tensor<1x1x2x1xf16>,
      tensor<1x1x2x1xbf16>
}
