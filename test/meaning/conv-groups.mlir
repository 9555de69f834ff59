// RUN: mini-opt %s -t check | filecheck %s

// Convolutions in groups, up to a filter of its own for each channel. Expected values come from ONNX Runtime.

func.func @main(
    %g: tensor<1x6x4x3xf32> {graph.name = "g", graph.value =
      dense<[[[[-5.0, 2.0, -2.0], [5.0, 1.0, -3.0], [4.0, 0.0, -4.0], [3.0, -1.0, -5.0]],
             [[2.0, -2.0, 5.0], [1.0, -3.0, 4.0], [0.0, -4.0, 3.0], [-1.0, -5.0, 2.0]],
             [[-2.0, 5.0, 1.0], [-3.0, 4.0, 0.0], [-4.0, 3.0, -1.0], [-5.0, 2.0, -2.0]],
             [[5.0, 1.0, -3.0], [4.0, 0.0, -4.0], [3.0, -1.0, -5.0], [2.0, -2.0, 5.0]],
             [[1.0, -3.0, 4.0], [0.0, -4.0, 3.0], [-1.0, -5.0, 2.0], [-2.0, 5.0, 1.0]],
             [[-3.0, 4.0, 0.0], [-4.0, 3.0, -1.0], [-5.0, 2.0, -2.0], [5.0, 1.0, -3.0]]]]> : tensor<1x6x4x3xf32>},
    %gl: tensor<1x4x3x6xf32> {graph.name = "gl", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0, 1.0, -3.0], [2.0, -2.0, 5.0, 1.0, -3.0, 4.0],
             [-2.0, 5.0, 1.0, -3.0, 4.0, 0.0]], [[5.0, 1.0, -3.0, 4.0, 0.0, -4.0],
             [1.0, -3.0, 4.0, 0.0, -4.0, 3.0], [-3.0, 4.0, 0.0, -4.0, 3.0, -1.0]],
             [[4.0, 0.0, -4.0, 3.0, -1.0, -5.0], [0.0, -4.0, 3.0, -1.0, -5.0, 2.0],
             [-4.0, 3.0, -1.0, -5.0, 2.0, -2.0]], [[3.0, -1.0, -5.0, 2.0, -2.0, 5.0],
             [-1.0, -5.0, 2.0, -2.0, 5.0, 1.0], [-5.0, 2.0, -2.0, 5.0, 1.0, -3.0]]]]> : tensor<1x4x3x6xf32>},
    %vg: tensor<4x3x2x2xf32> {graph.name = "vg", graph.value =
      dense<[[[[-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0]], [[2.0, 0.0],
             [-2.0, 3.0]]], [[[1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0], [3.0, 1.0]],
             [[-1.0, -3.0], [2.0, 0.0]]], [[[-2.0, 3.0], [1.0, -1.0]], [[-3.0, 2.0],
             [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0]]], [[[2.0, 0.0], [-2.0, 3.0]],
             [[1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0], [3.0, 1.0]]]]> : tensor<4x3x2x2xf32>},
    %vd: tensor<6x1x3x3xf32> {graph.name = "vd", graph.value =
      dense<[[[[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]]], [[[0.0, -2.0, 3.0],
             [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]]], [[[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0],
             [-2.0, 3.0, 1.0]]], [[[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]]],
             [[[2.0, 0.0, -2.0], [3.0, 1.0, -1.0], [-3.0, 2.0, 0.0]]], [[[-2.0, 3.0, 1.0],
             [-1.0, -3.0, 2.0], [0.0, -2.0, 3.0]]]]> : tensor<6x1x3x3xf32>})
    -> (tensor<1x4x3x2xf32> {graph.name = "groups", graph.expect =
      dense<[[[[44.0, -11.0], [11.0, -11.0], [11.0, -11.0]], [[-37.0, -22.0],
             [-25.0, -21.0], [-24.0, -20.0]], [[-11.0, 19.0], [-9.0, 21.0], [-40.0, 12.0]],
             [[-19.0, 9.0], [-23.0, 5.0], [28.0, 1.0]]]]> : tensor<1x4x3x2xf32>},
        tensor<1x3x2x4xf32> {graph.name = "groups_last", graph.expect =
      dense<[[[[44.0, -37.0, -11.0, -19.0], [-11.0, -22.0, 19.0, 9.0]],
             [[11.0, -25.0, -9.0, -23.0], [-11.0, -21.0, 21.0, 5.0]],
             [[11.0, -24.0, -40.0, 28.0], [-11.0, -20.0, 12.0, 1.0]]]]> : tensor<1x3x2x4xf32>},
        tensor<1x4x3x2xf32> {graph.name = "groups_computed", graph.expect =
      dense<[[[[44.0, -11.0], [11.0, -11.0], [11.0, -11.0]], [[-37.0, -22.0],
             [-25.0, -21.0], [-24.0, -20.0]], [[-11.0, 19.0], [-9.0, 21.0], [-40.0, 12.0]],
             [[-19.0, 9.0], [-23.0, 5.0], [28.0, 1.0]]]]> : tensor<1x4x3x2xf32>},
        tensor<1x3x2x4xf32> {graph.name = "groups_computed_last", graph.expect =
      dense<[[[[44.0, -37.0, -11.0, -19.0], [-11.0, -22.0, 19.0, 9.0]],
             [[11.0, -25.0, -9.0, -23.0], [-11.0, -21.0, 21.0, 5.0]],
             [[11.0, -24.0, -40.0, 28.0], [-11.0, -20.0, 12.0, 1.0]]]]> : tensor<1x3x2x4xf32>},
        tensor<1x6x4x3xf32> {graph.name = "depthwise", graph.expect =
      dense<[[[[-25.0, 1.0, -1.0], [-5.0, -2.0, -8.0], [12.0, -34.0, -4.0],
             [17.0, -25.0, -20.0]], [[8.0, -19.0, -15.0], [4.0, 3.0, -27.0],
             [9.0, 5.0, -27.0], [2.0, 13.0, -15.0]], [[-6.0, 37.0, -18.0],
             [-19.0, 34.0, -2.0], [-25.0, 30.0, -6.0], [-14.0, 14.0, 1.0]],
             [[-11.0, 5.0, 10.0], [-21.0, -7.0, 20.0], [-17.0, -36.0, 15.0],
             [-21.0, 9.0, 6.0]], [[9.0, -7.0, 18.0], [13.0, -15.0, 9.0], [13.0, 5.0, -29.0],
             [8.0, -3.0, 11.0]], [[28.0, -24.0, -8.0], [23.0, -5.0, -10.0],
             [-3.0, -6.0, -5.0], [-32.0, -6.0, -8.0]]]]> : tensor<1x6x4x3xf32>},
        tensor<1x4x3x6xf32> {graph.name = "depthwise_last", graph.expect =
      dense<[[[[-25.0, 8.0, -6.0, -11.0, 9.0, 28.0], [1.0, -19.0, 37.0, 5.0, -7.0, -24.0],
             [-1.0, -15.0, -18.0, 10.0, 18.0, -8.0]],
             [[-5.0, 4.0, -19.0, -21.0, 13.0, 23.0], [-2.0, 3.0, 34.0, -7.0, -15.0, -5.0],
             [-8.0, -27.0, -2.0, 20.0, 9.0, -10.0]], [[12.0, 9.0, -25.0, -17.0, 13.0, -3.0],
             [-34.0, 5.0, 30.0, -36.0, 5.0, -6.0], [-4.0, -27.0, -6.0, 15.0, -29.0, -5.0]],
             [[17.0, 2.0, -14.0, -21.0, 8.0, -32.0], [-25.0, 13.0, 14.0, 9.0, -3.0, -6.0],
             [-20.0, -15.0, 1.0, 6.0, 11.0, -8.0]]]]> : tensor<1x4x3x6xf32>},
        tensor<1x6x2x2xf32> {graph.name = "depthwise_strided", graph.expect =
      dense<[[[[-6.0, -3.0], [16.0, -26.0]], [[6.0, 5.0], [4.0, 15.0]], [[-22.0, 31.0],
             [-17.0, 11.0]], [[-21.0, -7.0], [-21.0, 9.0]], [[8.0, -20.0], [3.0, -8.0]],
             [[29.0, 1.0], [-26.0, 0.0]]]]> : tensor<1x6x2x2xf32>},
        tensor<1x2x2x6xf32> {graph.name = "depthwise_strided_last", graph.expect =
      dense<[[[[-6.0, 6.0, -22.0, -21.0, 8.0, 29.0], [-3.0, 5.0, 31.0, -7.0, -20.0, 1.0]],
             [[16.0, 4.0, -17.0, -21.0, 3.0, -26.0], [-26.0, 15.0, 11.0, 9.0, -8.0, 0.0]]]]> : tensor<1x2x2x6xf32>},
        tensor<1x6x1x2xf32> {graph.name = "depthwise_dilated", graph.expect =
      dense<[[[[-19.0, 6.0]], [[-16.0, -19.0]], [[34.0, -19.0]], [[-23.0, 1.0]],
             [[14.0, -17.0]], [[-24.0, 0.0]]]]> : tensor<1x6x1x2xf32>},
        tensor<1x1x2x6xf32> {graph.name = "depthwise_dilated_last", graph.expect =
      dense<[[[[-19.0, -16.0, 34.0, -23.0, 14.0, -24.0],
             [6.0, -19.0, -19.0, 1.0, -17.0, 0.0]]]]> : tensor<1x1x2x6xf32>},
        tensor<1x6x4x3xf32> {graph.name = "depthwise_computed", graph.expect =
      dense<[[[[-25.0, 1.0, -1.0], [-5.0, -2.0, -8.0], [12.0, -34.0, -4.0],
             [17.0, -25.0, -20.0]], [[8.0, -19.0, -15.0], [4.0, 3.0, -27.0],
             [9.0, 5.0, -27.0], [2.0, 13.0, -15.0]], [[-6.0, 37.0, -18.0],
             [-19.0, 34.0, -2.0], [-25.0, 30.0, -6.0], [-14.0, 14.0, 1.0]],
             [[-11.0, 5.0, 10.0], [-21.0, -7.0, 20.0], [-17.0, -36.0, 15.0],
             [-21.0, 9.0, 6.0]], [[9.0, -7.0, 18.0], [13.0, -15.0, 9.0], [13.0, 5.0, -29.0],
             [8.0, -3.0, 11.0]], [[28.0, -24.0, -8.0], [23.0, -5.0, -10.0],
             [-3.0, -6.0, -5.0], [-32.0, -6.0, -8.0]]]]> : tensor<1x6x4x3xf32>},
        tensor<1x4x3x6xf32> {graph.name = "depthwise_computed_last", graph.expect =
      dense<[[[[-25.0, 8.0, -6.0, -11.0, 9.0, 28.0], [1.0, -19.0, 37.0, 5.0, -7.0, -24.0],
             [-1.0, -15.0, -18.0, 10.0, 18.0, -8.0]],
             [[-5.0, 4.0, -19.0, -21.0, 13.0, 23.0], [-2.0, 3.0, 34.0, -7.0, -15.0, -5.0],
             [-8.0, -27.0, -2.0, 20.0, 9.0, -10.0]], [[12.0, 9.0, -25.0, -17.0, 13.0, -3.0],
             [-34.0, 5.0, 30.0, -36.0, 5.0, -6.0], [-4.0, -27.0, -6.0, 15.0, -29.0, -5.0]],
             [[17.0, 2.0, -14.0, -21.0, 8.0, -32.0], [-25.0, 13.0, 14.0, 9.0, -3.0, -6.0],
             [-20.0, -15.0, 1.0, 6.0, 11.0, -8.0]]]]> : tensor<1x4x3x6xf32>},
        tensor<1x12x3x2xf32> {graph.name = "multiplied", graph.expect =
      dense<[[[[17.0, -4.0], [-13.0, -1.0], [-10.0, 2.0]], [[-21.0, 12.0], [12.0, 12.0],
             [12.0, 12.0]], [[-7.0, 14.0], [-10.0, 11.0], [-13.0, 8.0]], [[-5.0, 10.0],
             [-4.0, 11.0], [-3.0, 12.0]], [[-15.0, 10.0], [-17.0, 8.0], [-19.0, 6.0]],
             [[-19.0, 0.0], [-17.0, 2.0], [-15.0, 4.0]], [[-3.0, -7.0], [-4.0, -8.0],
             [-5.0, -20.0]], [[-13.0, -1.0], [-10.0, 2.0], [-7.0, -17.0]], [[12.0, -10.0],
             [12.0, -10.0], [-21.0, -21.0]], [[-10.0, 11.0], [-13.0, 8.0], [17.0, -17.0]],
             [[11.0, -7.0], [12.0, -6.0], [-20.0, -5.0]], [[-17.0, 8.0], [-19.0, 6.0],
             [12.0, 4.0]]]]> : tensor<1x12x3x2xf32>},
        tensor<1x3x2x12xf32> {graph.name = "multiplied_last", graph.expect =
      dense<[[[[17.0, -21.0, -7.0, -5.0, -15.0, -19.0, -3.0, -13.0, 12.0, -10.0, 11.0,
             -17.0], [-4.0, 12.0, 14.0, 10.0, 10.0, 0.0, -7.0, -1.0, -10.0, 11.0, -7.0,
             8.0]], [[-13.0, 12.0, -10.0, -4.0, -17.0, -17.0, -4.0, -10.0, 12.0, -13.0,
             12.0, -19.0], [-1.0, 12.0, 11.0, 11.0, 8.0, 2.0, -8.0, 2.0, -10.0, 8.0, -6.0,
             6.0]], [[-10.0, 12.0, -13.0, -3.0, -19.0, -15.0, -5.0, -7.0, -21.0, 17.0,
             -20.0, 12.0], [2.0, 12.0, 8.0, 12.0, 6.0, 4.0, -20.0, -17.0, -21.0, -17.0,
             -5.0, 4.0]]]]> : tensor<1x3x2x12xf32>}) {
  %b4 = graph.constant dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>
  %wg = graph.constant dense<[[[[-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0]],
                              [[2.0, 0.0], [-2.0, 3.0]]], [[[1.0, -1.0], [-3.0, 2.0]],
                              [[0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0], [2.0, 0.0]]],
                              [[[-2.0, 3.0], [1.0, -1.0]], [[-3.0, 2.0], [0.0, -2.0]],
                              [[3.0, 1.0], [-1.0, -3.0]]], [[[2.0, 0.0], [-2.0, 3.0]],
                              [[1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0], [3.0, 1.0]]]]> : tensor<4x3x2x2xf32>
  %wd = graph.constant dense<[[[[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]]],
                              [[[0.0, -2.0, 3.0], [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]]],
                              [[[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0]]],
                              [[[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]]],
                              [[[2.0, 0.0, -2.0], [3.0, 1.0, -1.0], [-3.0, 2.0, 0.0]]],
                              [[[-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0], [0.0, -2.0, 3.0]]]]> : tensor<6x1x3x3xf32>
  %b6 = graph.constant dense<[1.0, -2.0, 3.0, 0.0, 5.0, -6.0]> : tensor<6xf32>
  %wm = graph.constant dense<[[[[-3.0, 2.0], [0.0, -2.0]]], [[[3.0, 1.0], [-1.0, -3.0]]],
                              [[[2.0, 0.0], [-2.0, 3.0]]], [[[1.0, -1.0], [-3.0, 2.0]]],
                              [[[0.0, -2.0], [3.0, 1.0]]], [[[-1.0, -3.0], [2.0, 0.0]]],
                              [[[-2.0, 3.0], [1.0, -1.0]]], [[[-3.0, 2.0], [0.0, -2.0]]],
                              [[[3.0, 1.0], [-1.0, -3.0]]], [[[2.0, 0.0], [-2.0, 3.0]]],
                              [[[1.0, -1.0], [-3.0, 2.0]]], [[[0.0, -2.0], [3.0, 1.0]]]]> : tensor<12x1x2x2xf32>

  // Two groups: channels 0-2 make results 0 and 1, channels 3-5 make 2 and 3.
  // CHECK: groups: reference, unfused, fused agree
  %groups = graph.conv %g, %wg, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 2 : i64, layout = "NCHW"}
    : (tensor<1x6x4x3xf32>, tensor<4x3x2x2xf32>, tensor<4xf32>) -> tensor<1x4x3x2xf32>

  // The same with channels last.
  // CHECK: groups_last: reference, unfused, fused agree
  %groups_last = graph.conv %gl, %wg, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 2 : i64, layout = "NHWC"}
    : (tensor<1x4x3x6xf32>, tensor<4x3x2x2xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>

  // The same with a weight that is not known.
  // CHECK: groups_computed: reference, unfused, fused agree
  %groups_computed = graph.conv %g, %vg, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 2 : i64, layout = "NCHW"}
    : (tensor<1x6x4x3xf32>, tensor<4x3x2x2xf32>, tensor<4xf32>) -> tensor<1x4x3x2xf32>

  // The same with channels last.
  // CHECK: groups_computed_last: reference, unfused, fused agree
  %groups_computed_last = graph.conv %gl, %vg, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 2 : i64, layout = "NHWC"}
    : (tensor<1x4x3x6xf32>, tensor<4x3x2x2xf32>, tensor<4xf32>) -> tensor<1x3x2x4xf32>

  // A filter for each channel.
  // CHECK: depthwise: reference, unfused, fused agree
  %depthwise = graph.conv %g, %wd, %b6
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NCHW"}
    : (tensor<1x6x4x3xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x3xf32>

  // The same with channels last.
  // CHECK: depthwise_last: reference, unfused, fused agree
  %depthwise_last = graph.conv %gl, %wd, %b6
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NHWC"}
    : (tensor<1x4x3x6xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<1x4x3x6xf32>

  // With strides and padding on two sides only.
  // CHECK: depthwise_strided: reference, unfused, fused agree
  %depthwise_strided = graph.conv %g, %wd
    {strides = array<i64: 2, 1>, pads = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NCHW"} : (tensor<1x6x4x3xf32>, tensor<6x1x3x3xf32>) -> tensor<1x6x2x2xf32>

  // The same with channels last.
  // CHECK: depthwise_strided_last: reference, unfused, fused agree
  %depthwise_strided_last = graph.conv %gl, %wd
    {strides = array<i64: 2, 1>, pads = array<i64: 0, 1, 1, 0>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NHWC"} : (tensor<1x4x3x6xf32>, tensor<6x1x3x3xf32>) -> tensor<1x2x2x6xf32>

  // And dilated.
  // CHECK: depthwise_dilated: reference, unfused, fused agree
  %depthwise_dilated = graph.conv %g, %wd, %b6
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 1>, dilations = array<i64: 2, 1>,
     groups = 6 : i64, layout = "NCHW"}
    : (tensor<1x6x4x3xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<1x6x1x2xf32>

  // The same with channels last.
  // CHECK: depthwise_dilated_last: reference, unfused, fused agree
  %depthwise_dilated_last = graph.conv %gl, %wd, %b6
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 1>, dilations = array<i64: 2, 1>,
     groups = 6 : i64, layout = "NHWC"}
    : (tensor<1x4x3x6xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<1x1x2x6xf32>

  // With a weight that is not known.
  // CHECK: depthwise_computed: reference, unfused, fused agree
  %depthwise_computed = graph.conv %g, %vd, %b6
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NCHW"}
    : (tensor<1x6x4x3xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<1x6x4x3xf32>

  // The same with channels last.
  // CHECK: depthwise_computed_last: reference, unfused, fused agree
  %depthwise_computed_last = graph.conv %gl, %vd, %b6
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NHWC"}
    : (tensor<1x4x3x6xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>) -> tensor<1x4x3x6xf32>

  // Two filters for each channel.
  // CHECK: multiplied: reference, unfused, fused agree
  %multiplied = graph.conv %g, %wm
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NCHW"} : (tensor<1x6x4x3xf32>, tensor<12x1x2x2xf32>) -> tensor<1x12x3x2xf32>

  // The same with channels last.
  // CHECK: multiplied_last: reference, unfused, fused agree
  %multiplied_last = graph.conv %gl, %wm
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 6 : i64, layout = "NHWC"} : (tensor<1x4x3x6xf32>, tensor<12x1x2x2xf32>) -> tensor<1x3x2x12xf32>

  func.return %groups, %groups_last, %groups_computed, %groups_computed_last, %depthwise, %depthwise_last,
    %depthwise_strided, %depthwise_strided_last, %depthwise_dilated, %depthwise_dilated_last,
    %depthwise_computed, %depthwise_computed_last, %multiplied, %multiplied_last
    : tensor<1x4x3x2xf32>, tensor<1x3x2x4xf32>, tensor<1x4x3x2xf32>, tensor<1x3x2x4xf32>,
      tensor<1x6x4x3xf32>, tensor<1x4x3x6xf32>, tensor<1x6x2x2xf32>, tensor<1x2x2x6xf32>,
      tensor<1x6x1x2xf32>, tensor<1x1x2x6xf32>, tensor<1x6x4x3xf32>, tensor<1x4x3x6xf32>,
      tensor<1x12x3x2xf32>, tensor<1x3x2x12xf32>
}
