// RUN: mini-opt %s -t check | filecheck %s

// Other numbers of dimensions and other types. Expected values come from ONNX Runtime.

func.func @main(
    %li: tensor<2x3x7xf32> {graph.name = "li", graph.value =
      dense<[[[-5.0, 2.0, -2.0, 5.0, 1.0, -3.0, 4.0],
             [0.0, -4.0, 3.0, -1.0, -5.0, 2.0, -2.0],
             [5.0, 1.0, -3.0, 4.0, 0.0, -4.0, 3.0]],
             [[-1.0, -5.0, 2.0, -2.0, 5.0, 1.0, -3.0],
             [4.0, 0.0, -4.0, 3.0, -1.0, -5.0, 2.0], [-2.0, 5.0, 1.0, -3.0, 4.0, 0.0, -4.0]]]> : tensor<2x3x7xf32>},
    %lil: tensor<2x7x3xf32> {graph.name = "lil", graph.value =
      dense<[[[-5.0, 0.0, 5.0], [2.0, -4.0, 1.0], [-2.0, 3.0, -3.0], [5.0, -1.0, 4.0],
             [1.0, -5.0, 0.0], [-3.0, 2.0, -4.0], [4.0, -2.0, 3.0]], [[-1.0, 4.0, -2.0],
             [-5.0, 0.0, 5.0], [2.0, -4.0, 1.0], [-2.0, 3.0, -3.0], [5.0, -1.0, 4.0],
             [1.0, -5.0, 0.0], [-3.0, 2.0, -4.0]]]> : tensor<2x7x3xf32>},
    %vo: tensor<1x2x3x2x3xf32> {graph.name = "vo", graph.value =
      dense<[[[[[-5.0, 2.0, -2.0], [5.0, 1.0, -3.0]], [[4.0, 0.0, -4.0],
             [3.0, -1.0, -5.0]], [[2.0, -2.0, 5.0], [1.0, -3.0, 4.0]]], [[[0.0, -4.0, 3.0],
             [-1.0, -5.0, 2.0]], [[-2.0, 5.0, 1.0], [-3.0, 4.0, 0.0]], [[-4.0, 3.0, -1.0],
             [-5.0, 2.0, -2.0]]]]]> : tensor<1x2x3x2x3xf32>},
    %vol: tensor<1x3x2x3x2xf32> {graph.name = "vol", graph.value =
      dense<[[[[[-5.0, 0.0], [2.0, -4.0], [-2.0, 3.0]], [[5.0, -1.0], [1.0, -5.0],
             [-3.0, 2.0]]], [[[4.0, -2.0], [0.0, 5.0], [-4.0, 1.0]], [[3.0, -3.0],
             [-1.0, 4.0], [-5.0, 0.0]]], [[[2.0, -4.0], [-2.0, 3.0], [5.0, -1.0]],
             [[1.0, -5.0], [-3.0, 2.0], [4.0, -2.0]]]]]> : tensor<1x3x2x3x2xf32>},
    %d: tensor<1x2x3x3xf64> {graph.name = "d", graph.value =
      dense<[[[[0.0, 1.0, 2.0], [3.0, 4.0, 0.0], [1.0, 2.0, 3.0]], [[4.0, 0.0, 1.0],
             [2.0, 3.0, 4.0], [0.0, 1.0, 2.0]]]]> : tensor<1x2x3x3xf64>},
    %dl: tensor<1x3x3x2xf64> {graph.name = "dl", graph.value =
      dense<[[[[0.0, 4.0], [1.0, 0.0], [2.0, 1.0]], [[3.0, 2.0], [4.0, 3.0], [0.0, 4.0]],
             [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]]]> : tensor<1x3x3x2xf64>},
    %h: tensor<1x2x3x3xf16> {graph.name = "h", graph.value =
      dense<[[[[0.0, 1.0, 2.0], [3.0, 4.0, 0.0], [1.0, 2.0, 3.0]], [[4.0, 0.0, 1.0],
             [2.0, 3.0, 4.0], [0.0, 1.0, 2.0]]]]> : tensor<1x2x3x3xf16>},
    %hl: tensor<1x3x3x2xf16> {graph.name = "hl", graph.value =
      dense<[[[[0.0, 4.0], [1.0, 0.0], [2.0, 1.0]], [[3.0, 2.0], [4.0, 3.0], [0.0, 4.0]],
             [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]]]> : tensor<1x3x3x2xf16>},
    %k: tensor<1x2x3x3xbf16> {graph.name = "k", graph.value =
      dense<[[[[0.0, 1.0, 2.0], [3.0, 4.0, 0.0], [1.0, 2.0, 3.0]], [[4.0, 0.0, 1.0],
             [2.0, 3.0, 4.0], [0.0, 1.0, 2.0]]]]> : tensor<1x2x3x3xbf16>},
    %kl: tensor<1x3x3x2xbf16> {graph.name = "kl", graph.value =
      dense<[[[[0.0, 4.0], [1.0, 0.0], [2.0, 1.0]], [[3.0, 2.0], [4.0, 3.0], [0.0, 4.0]],
             [[1.0, 0.0], [2.0, 1.0], [3.0, 2.0]]]]> : tensor<1x3x3x2xbf16>},
    %i: tensor<1x2x3x3xi32> {graph.name = "i", graph.value =
      dense<[[[[0, 1, 2], [3, 4, 0], [1, 2, 3]], [[4, 0, 1], [2, 3, 4], [0, 1, 2]]]]> : tensor<1x2x3x3xi32>},
    %il: tensor<1x3x3x2xi32> {graph.name = "il", graph.value =
      dense<[[[[0, 4], [1, 0], [2, 1]], [[3, 2], [4, 3], [0, 4]], [[1, 0], [2, 1], [3, 2]]]]> : tensor<1x3x3x2xi32>},
    %u: tensor<1x2x3x3xui8> {graph.name = "u", graph.value =
      dense<[[[[0, 1, 2], [3, 4, 0], [1, 2, 3]], [[4, 0, 1], [2, 3, 4], [0, 1, 2]]]]> : tensor<1x2x3x3xui8>},
    %ul: tensor<1x3x3x2xui8> {graph.name = "ul", graph.value =
      dense<[[[[0, 4], [1, 0], [2, 1]], [[3, 2], [4, 3], [0, 4]], [[1, 0], [2, 1], [3, 2]]]]> : tensor<1x3x3x2xui8>})
    -> (tensor<2x4x3xf32> {graph.name = "line", graph.expect =
      dense<[[[-3.0, -9.0, -4.0], [8.0, -20.0, 9.0], [-1.0, 33.0, 2.0], [-4.0, -6.0, 8.0]],
             [[-27.0, 20.0, -9.0], [-1.0, 27.0, -2.0], [12.0, -28.0, -15.0],
             [24.0, 0.0, 6.0]]]> : tensor<2x4x3xf32>},
        tensor<2x3x4xf32> {graph.name = "line_last", graph.expect =
      dense<[[[-3.0, 8.0, -1.0, -4.0], [-9.0, -20.0, 33.0, -6.0], [-4.0, 9.0, 2.0, 8.0]],
             [[-27.0, -1.0, 12.0, 24.0], [20.0, 27.0, -28.0, 0.0], [-9.0, -2.0, -15.0, 6.0]]]> : tensor<2x3x4xf32>},
        tensor<1x3x3x2x2xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[-24.0, -6.0], [20.0, -7.0]], [[26.0, 2.0], [-14.0, -2.0]], [[28.0, 30.0],
             [-24.0, 25.0]]], [[[11.0, -13.0], [-15.0, -3.0]], [[14.0, -22.0], [2.0, 1.0]],
             [[40.0, -11.0], [47.0, 2.0]]], [[[-17.0, 8.0], [20.0, -6.0]], [[-40.0, -4.0],
             [18.0, -17.0]], [[-4.0, -10.0], [-1.0, -7.0]]]]]> : tensor<1x3x3x2x2xf32>},
        tensor<1x3x2x2x3xf32> {graph.name = "volume_last", graph.expect =
      dense<[[[[[-24.0, 11.0, -17.0], [-6.0, -13.0, 8.0]], [[20.0, -15.0, 20.0],
             [-7.0, -3.0, -6.0]]], [[[26.0, 14.0, -40.0], [2.0, -22.0, -4.0]],
             [[-14.0, 2.0, 18.0], [-2.0, 1.0, -17.0]]], [[[28.0, 40.0, -4.0],
             [30.0, -11.0, -10.0]], [[-24.0, 47.0, -1.0], [25.0, 2.0, -7.0]]]]]> : tensor<1x3x2x2x3xf32>},
        tensor<1x1x2x2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[21.0, 25.0], [13.0, 22.0]]]]> : tensor<1x1x2x2xf64>},
        tensor<1x2x2x1xf64> {graph.name = "double_last", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[21.0], [25.0]], [[13.0], [22.0]]]]> : tensor<1x2x2x1xf64>},
        tensor<1x1x2x2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[21.0, 25.0], [13.0, 22.0]]]]> : tensor<1x1x2x2xf16>},
        tensor<1x2x2x1xf16> {graph.name = "half_last", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[21.0], [25.0]], [[13.0], [22.0]]]]> : tensor<1x2x2x1xf16>},
        tensor<1x1x2x2xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[[[21.0, 25.0], [13.0, 22.0]]]]> : tensor<1x1x2x2xbf16>},
        tensor<1x2x2x1xbf16> {graph.name = "brain_last", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[[[21.0], [25.0]], [[13.0], [22.0]]]]> : tensor<1x2x2x1xbf16>},
        tensor<1x1x2x2xi32> {graph.name = "ints", graph.expect =
      dense<[[[[21, 25], [13, 22]]]]> : tensor<1x1x2x2xi32>},
        tensor<1x2x2x1xi32> {graph.name = "ints_last", graph.expect =
      dense<[[[[21], [25]], [[13], [22]]]]> : tensor<1x2x2x1xi32>},
        tensor<1x1x2x2xi32> {graph.name = "unsigned", graph.expect =
      dense<[[[[21, 25], [13, 22]]]]> : tensor<1x1x2x2xi32>},
        tensor<1x2x2x1xi32> {graph.name = "unsigned_last", graph.expect =
      dense<[[[[21], [25]], [[13], [22]]]]> : tensor<1x2x2x1xi32>},
        tensor<1x1x2x2xi32> {graph.name = "padded", graph.expect =
      dense<[[[[712, 7], [797, 26]]]]> : tensor<1x1x2x2xi32>}) {
  %b4 = graph.constant dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>
  %wl = graph.constant dense<[[[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]],
                              [[0.0, -2.0, 3.0], [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]],
                              [[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0]],
                              [[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]]]> : tensor<4x3x3xf32>
  %wv = graph.constant dense<[[[[[-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0]]],
                              [[[2.0, 0.0], [-2.0, 3.0]], [[1.0, -1.0], [-3.0, 2.0]]]],
                              [[[[0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0], [2.0, 0.0]]],
                              [[[-2.0, 3.0], [1.0, -1.0]], [[-3.0, 2.0], [0.0, -2.0]]]],
                              [[[[3.0, 1.0], [-1.0, -3.0]], [[2.0, 0.0], [-2.0, 3.0]]],
                              [[[1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0], [3.0, 1.0]]]]]> : tensor<3x2x2x2x2xf32>
  %w_d = graph.constant dense<[[[[1.0, 0.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 3.0]]]]> : tensor<1x2x2x2xf64>
  %w_h = graph.constant dense<[[[[1.0, 0.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 3.0]]]]> : tensor<1x2x2x2xf16>
  %w_k = graph.constant dense<[[[[1.0, 0.0], [2.0, 1.0]], [[0.0, 1.0], [1.0, 3.0]]]]> : tensor<1x2x2x2xbf16>
  %w_i = graph.constant dense<[[[[1, 0], [2, 1]], [[0, 1], [1, 3]]]]> : tensor<1x2x2x2xi32>
  %w_u = graph.constant dense<[[[[1, 0], [2, 1]], [[0, 1], [1, 3]]]]> : tensor<1x2x2x2xui8>

  %w_s = graph.constant dense<[[[[1, -2], [2, 1]], [[0, 1], [5, 3]]]]> : tensor<1x2x2x2xi8>

  // One spatial dimension.
  // CHECK: line: reference, unfused, fused agree
  %line = graph.conv %li, %wl, %b4
    {strides = array<i64: 2>, pads = array<i64: 1, 2>, dilations = array<i64: 2>, groups = 1 : i64,
     layout = "NCHW"} : (tensor<2x3x7xf32>, tensor<4x3x3xf32>, tensor<4xf32>) -> tensor<2x4x3xf32>

  // The same with channels last.
  // CHECK: line_last: reference, unfused, fused agree
  %line_last = graph.conv %lil, %wl, %b4
    {strides = array<i64: 2>, pads = array<i64: 1, 2>, dilations = array<i64: 2>, groups = 1 : i64,
     layout = "NHWC"} : (tensor<2x7x3xf32>, tensor<4x3x3xf32>, tensor<4xf32>) -> tensor<2x3x4xf32>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.conv %vo, %wv
    {strides = array<i64: 1, 1, 2>, pads = array<i64: 1, 0, 0, 0, 1, 1>, dilations = array<i64: 1, 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x2x3x2x3xf32>, tensor<3x2x2x2x2xf32>) -> tensor<1x3x3x2x2xf32>

  // The same with channels last.
  // CHECK: volume_last: reference, unfused, fused agree
  %volume_last = graph.conv %vol, %wv
    {strides = array<i64: 1, 1, 2>, pads = array<i64: 1, 0, 0, 0, 1, 1>, dilations = array<i64: 1, 1, 1>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x3x2x3x2xf32>, tensor<3x2x2x2x2xf32>) -> tensor<1x3x2x2x3xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.conv %d, %w_d
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x3x3xf64>, tensor<1x2x2x2xf64>) -> tensor<1x1x2x2xf64>

  // The same with channels last.
  // CHECK: double_last: reference, unfused, fused agree
  %double_last = graph.conv %dl, %w_d
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x3x3x2xf64>, tensor<1x2x2x2xf64>) -> tensor<1x2x2x1xf64>

  // f16, summed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.conv %h, %w_h
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x3x3xf16>, tensor<1x2x2x2xf16>) -> tensor<1x1x2x2xf16>

  // The same with channels last.
  // CHECK: half_last: reference, unfused, fused agree
  %half_last = graph.conv %hl, %w_h
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x3x3x2xf16>, tensor<1x2x2x2xf16>) -> tensor<1x2x2x1xf16>

  // bf16, summed in f32.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.conv %k, %w_k
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x3x3xbf16>, tensor<1x2x2x2xbf16>) -> tensor<1x1x2x2xbf16>

  // The same with channels last.
  // CHECK: brain_last: reference, unfused, fused agree
  %brain_last = graph.conv %kl, %w_k
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x3x3x2xbf16>, tensor<1x2x2x2xbf16>) -> tensor<1x2x2x1xbf16>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.conv %i, %w_i
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x3x3xi32>, tensor<1x2x2x2xi32>) -> tensor<1x1x2x2xi32>

  // The same with channels last.
  // CHECK: ints_last: reference, unfused, fused agree
  %ints_last = graph.conv %il, %w_i
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x3x3x2xi32>, tensor<1x2x2x2xi32>) -> tensor<1x2x2x1xi32>

  // Unsigned bytes, whose sums are wider.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.conv %u, %w_u
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x2x3x3xui8>, tensor<1x2x2x2xui8>) -> tensor<1x1x2x2xi32>

  // The same with channels last.
  // CHECK: unsigned_last: reference, unfused, fused agree
  %unsigned_last = graph.conv %ul, %w_u
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x3x3x2xui8>, tensor<1x2x2x2xui8>) -> tensor<1x2x2x1xi32>

  // Signed weights, and padding with a zero point.
  // CHECK: padded: reference, unfused, fused agree
  %padded = graph.conv %u, %w_s
    {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW", pad_value = 100 : i64}
    : (tensor<1x2x3x3xui8>, tensor<1x2x2x2xi8>) -> tensor<1x1x2x2xi32>

  func.return %line, %line_last, %volume, %volume_last, %double, %double_last, %half, %half_last, %brain,
    %brain_last, %ints, %ints_last, %unsigned, %unsigned_last, %padded
    : tensor<2x4x3xf32>, tensor<2x3x4xf32>, tensor<1x3x3x2x2xf32>, tensor<1x3x2x2x3xf32>,
      tensor<1x1x2x2xf64>, tensor<1x2x2x1xf64>, tensor<1x1x2x2xf16>, tensor<1x2x2x1xf16>,
      tensor<1x1x2x2xbf16>, tensor<1x2x2x1xbf16>, tensor<1x1x2x2xi32>, tensor<1x2x2x1xi32>,
      tensor<1x1x2x2xi32>, tensor<1x2x2x1xi32>, tensor<1x1x2x2xi32>
}
