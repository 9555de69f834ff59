// RUN: mini-opt %s -t check | filecheck %s

// Expected values that aren't done by hand come from ONNX Runtime.

func.func @main(
    %x: tensor<1x1x3xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>},
    %im: tensor<1x4x3x2xf32> {graph.name = "im", graph.value =
      dense<[[[[-5.0, 2.0], [-2.0, 5.0], [1.0, -3.0]], [[4.0, 0.0], [-4.0, 3.0],
             [-1.0, -5.0]], [[2.0, -2.0], [5.0, 1.0], [-3.0, 4.0]], [[0.0, -4.0],
             [3.0, -1.0], [-5.0, 2.0]]]]> : tensor<1x4x3x2xf32>},
    %iml: tensor<1x3x2x4xf32> {graph.name = "iml", graph.value =
      dense<[[[[-5.0, 4.0, 2.0, 0.0], [2.0, 0.0, -2.0, -4.0]], [[-2.0, -4.0, 5.0, 3.0],
             [5.0, 3.0, 1.0, -1.0]], [[1.0, -1.0, -3.0, -5.0], [-3.0, -5.0, 4.0, 2.0]]]]> : tensor<1x3x2x4xf32>},
    %v32: tensor<4x3x3x2xf32> {graph.name = "v32", graph.value =
      dense<[[[[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0], [2.0, 0.0],
             [-2.0, 3.0]], [[1.0, -1.0], [-3.0, 2.0], [0.0, -2.0]]], [[[3.0, 1.0],
             [-1.0, -3.0], [2.0, 0.0]], [[-2.0, 3.0], [1.0, -1.0], [-3.0, 2.0]],
             [[0.0, -2.0], [3.0, 1.0], [-1.0, -3.0]]], [[[2.0, 0.0], [-2.0, 3.0],
             [1.0, -1.0]], [[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0],
             [2.0, 0.0], [-2.0, 3.0]]], [[[1.0, -1.0], [-3.0, 2.0], [0.0, -2.0]],
             [[3.0, 1.0], [-1.0, -3.0], [2.0, 0.0]], [[-2.0, 3.0], [1.0, -1.0],
             [-3.0, 2.0]]]]> : tensor<4x3x3x2xf32>},
    %c3: tensor<3xf32> {graph.name = "c3", graph.value = dense<[1.0, -2.0, 3.0]> : tensor<3xf32>},
    %vo: tensor<1x2x2x2x2xf32> {graph.name = "vo", graph.value =
      dense<[[[[[-5.0, 2.0], [-2.0, 5.0]], [[1.0, -3.0], [4.0, 0.0]]], [[[-4.0, 3.0],
             [-1.0, -5.0]], [[2.0, -2.0], [5.0, 1.0]]]]]> : tensor<1x2x2x2x2xf32>},
    %vol: tensor<1x2x2x2x2xf32> {graph.name = "vol", graph.value =
      dense<[[[[[-5.0, -4.0], [2.0, 3.0]], [[-2.0, -1.0], [5.0, -5.0]]], [[[1.0, 2.0],
             [-3.0, -2.0]], [[4.0, 5.0], [0.0, 1.0]]]]]> : tensor<1x2x2x2x2xf32>},
    %d: tensor<1x2x2x2xf64> {graph.name = "d", graph.value =
      dense<[[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 0.0], [1.0, 2.0]]]]> : tensor<1x2x2x2xf64>},
    %dl: tensor<1x2x2x2xf64> {graph.name = "dl", graph.value =
      dense<[[[[0.0, 4.0], [1.0, 0.0]], [[2.0, 1.0], [3.0, 2.0]]]]> : tensor<1x2x2x2xf64>},
    %h: tensor<1x2x2x2xf16> {graph.name = "h", graph.value =
      dense<[[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 0.0], [1.0, 2.0]]]]> : tensor<1x2x2x2xf16>},
    %hl: tensor<1x2x2x2xf16> {graph.name = "hl", graph.value =
      dense<[[[[0.0, 4.0], [1.0, 0.0]], [[2.0, 1.0], [3.0, 2.0]]]]> : tensor<1x2x2x2xf16>},
    %k: tensor<1x2x2x2xbf16> {graph.name = "k", graph.value =
      dense<[[[[0.0, 1.0], [2.0, 3.0]], [[4.0, 0.0], [1.0, 2.0]]]]> : tensor<1x2x2x2xbf16>},
    %kl: tensor<1x2x2x2xbf16> {graph.name = "kl", graph.value =
      dense<[[[[0.0, 4.0], [1.0, 0.0]], [[2.0, 1.0], [3.0, 2.0]]]]> : tensor<1x2x2x2xbf16>},
    %i: tensor<1x2x2x2xi32> {graph.name = "i", graph.value =
      dense<[[[[0, 1], [2, 3]], [[4, 0], [1, 2]]]]> : tensor<1x2x2x2xi32>},
    %il: tensor<1x2x2x2xi32> {graph.name = "il", graph.value =
      dense<[[[[0, 4], [1, 0]], [[2, 1], [3, 2]]]]> : tensor<1x2x2x2xi32>})
    -> (tensor<1x1x4xf32> {graph.name = "by_hand", graph.expect =
      dense<[[[1.0, 12.0, 23.0, 30.0]]]> : tensor<1x1x4xf32>},
        tensor<1x1x9xf32> {graph.name = "stride_by_hand", graph.expect =
      dense<[[[1.0, 10.0, 0.0, 2.0, 20.0, 0.0, 3.0, 30.0, 0.0]]]> : tensor<1x1x9xf32>},
        tensor<1x1x1xf32> {graph.name = "pads_by_hand", graph.expect =
      dense<[[[12.0]]]> : tensor<1x1x1xf32>},
        tensor<1x1x5xf32> {graph.name = "dilation_by_hand", graph.expect =
      dense<[[[1.0, 2.0, 13.0, 20.0, 30.0]]]> : tensor<1x1x5xf32>},
        tensor<1x3x5x3xf32> {graph.name = "plain", graph.expect =
      dense<[[[[32.0, -19.0, 9.0], [0.0, 5.0, -3.0], [-36.0, 43.0, -18.0],
             [14.0, -17.0, 44.0], [-1.0, 0.0, -10.0]], [[-11.0, 21.0, -16.0],
             [-4.0, -12.0, 9.0], [-14.0, -36.0, 4.0], [41.0, -20.0, 11.0],
             [-20.0, 33.0, -17.0]], [[-4.0, 6.0, -5.0], [21.0, -7.0, -6.0],
             [16.0, -9.0, 6.0], [-29.0, 48.0, -28.0], [25.0, -24.0, 40.0]]]]> : tensor<1x3x5x3xf32>},
        tensor<1x5x3x3xf32> {graph.name = "plain_last", graph.expect =
      dense<[[[[32.0, -11.0, -4.0], [-19.0, 21.0, 6.0], [9.0, -16.0, -5.0]],
             [[0.0, -4.0, 21.0], [5.0, -12.0, -7.0], [-3.0, 9.0, -6.0]],
             [[-36.0, -14.0, 16.0], [43.0, -36.0, -9.0], [-18.0, 4.0, 6.0]],
             [[14.0, 41.0, -29.0], [-17.0, -20.0, 48.0], [44.0, 11.0, -28.0]],
             [[-1.0, -20.0, 25.0], [0.0, 33.0, -24.0], [-10.0, -17.0, 40.0]]]]> : tensor<1x5x3x3xf32>},
        tensor<1x3x5x3xf32> {graph.name = "computed", graph.expect =
      dense<[[[[32.0, -19.0, 9.0], [0.0, 5.0, -3.0], [-36.0, 43.0, -18.0],
             [14.0, -17.0, 44.0], [-1.0, 0.0, -10.0]], [[-11.0, 21.0, -16.0],
             [-4.0, -12.0, 9.0], [-14.0, -36.0, 4.0], [41.0, -20.0, 11.0],
             [-20.0, 33.0, -17.0]], [[-4.0, 6.0, -5.0], [21.0, -7.0, -6.0],
             [16.0, -9.0, 6.0], [-29.0, 48.0, -28.0], [25.0, -24.0, 40.0]]]]> : tensor<1x3x5x3xf32>},
        tensor<1x5x3x3xf32> {graph.name = "computed_last", graph.expect =
      dense<[[[[32.0, -11.0, -4.0], [-19.0, 21.0, 6.0], [9.0, -16.0, -5.0]],
             [[0.0, -4.0, 21.0], [5.0, -12.0, -7.0], [-3.0, 9.0, -6.0]],
             [[-36.0, -14.0, 16.0], [43.0, -36.0, -9.0], [-18.0, 4.0, 6.0]],
             [[14.0, 41.0, -29.0], [-17.0, -20.0, 48.0], [44.0, 11.0, -28.0]],
             [[-1.0, -20.0, 25.0], [0.0, 33.0, -24.0], [-10.0, -17.0, 40.0]]]]> : tensor<1x5x3x3xf32>},
        tensor<1x3x6x3xf32> {graph.name = "strided", graph.expect =
      dense<[[[[-7.0, 5.0, 17.0], [3.0, -17.0, 0.0], [-14.0, 38.0, -1.0],
             [-25.0, -6.0, 27.0], [23.0, -17.0, -8.0], [-1.0, 15.0, -14.0]],
             [[-8.0, -10.0, 6.0], [6.0, 0.0, -37.0], [-13.0, -17.0, 12.0],
             [30.0, -28.0, -13.0], [4.0, 20.0, -15.0], [-20.0, -4.0, 35.0]],
             [[34.0, -3.0, -11.0], [-18.0, 11.0, 25.0], [10.0, -8.0, -2.0],
             [2.0, 35.0, -10.0], [-14.0, 9.0, 7.0], [25.0, -15.0, -6.0]]]]> : tensor<1x3x6x3xf32>},
        tensor<1x6x3x3xf32> {graph.name = "strided_last", graph.expect =
      dense<[[[[-7.0, -8.0, 34.0], [5.0, -10.0, -3.0], [17.0, 6.0, -11.0]],
             [[3.0, 6.0, -18.0], [-17.0, 0.0, 11.0], [0.0, -37.0, 25.0]],
             [[-14.0, -13.0, 10.0], [38.0, -17.0, -8.0], [-1.0, 12.0, -2.0]],
             [[-25.0, 30.0, 2.0], [-6.0, -28.0, 35.0], [27.0, -13.0, -10.0]],
             [[23.0, 4.0, -14.0], [-17.0, 20.0, 9.0], [-8.0, -15.0, 7.0]],
             [[-1.0, -20.0, 25.0], [15.0, -4.0, -15.0], [-14.0, 35.0, -6.0]]]]> : tensor<1x6x3x3xf32>},
        tensor<1x3x6x3xf32> {graph.name = "dilated", graph.expect =
      dense<[[[[0.0, -14.0, 8.0], [0.0, -5.0, 14.0], [0.0, 20.0, -31.0],
             [0.0, -2.0, -18.0], [0.0, -5.0, 49.0], [0.0, 22.0, 6.0]], [[0.0, -8.0, -14.0],
             [0.0, -17.0, -5.0], [0.0, 15.0, 20.0], [0.0, 14.0, -2.0], [0.0, -31.0, -5.0],
             [0.0, -18.0, 22.0]], [[0.0, 12.0, -8.0], [0.0, 6.0, -17.0], [0.0, -25.0, 15.0],
             [0.0, -5.0, 14.0], [0.0, 20.0, -31.0], [0.0, -2.0, -18.0]]]]> : tensor<1x3x6x3xf32>},
        tensor<1x6x3x3xf32> {graph.name = "dilated_last", graph.expect =
      dense<[[[[0.0, 0.0, 0.0], [-14.0, -8.0, 12.0], [8.0, -14.0, -8.0]], [[0.0, 0.0, 0.0],
             [-5.0, -17.0, 6.0], [14.0, -5.0, -17.0]], [[0.0, 0.0, 0.0],
             [20.0, 15.0, -25.0], [-31.0, 20.0, 15.0]], [[0.0, 0.0, 0.0],
             [-2.0, 14.0, -5.0], [-18.0, -2.0, 14.0]], [[0.0, 0.0, 0.0],
             [-5.0, -31.0, 20.0], [49.0, -5.0, -31.0]], [[0.0, 0.0, 0.0],
             [22.0, -18.0, -2.0], [6.0, 22.0, -18.0]]]]> : tensor<1x6x3x3xf32>},
        tensor<1x4x4x3xf32> {graph.name = "groups", graph.expect =
      dense<[[[[24.0, -15.0, 5.0], [-9.0, 10.0, 7.0], [4.0, -12.0, -6.0],
             [3.0, 6.0, -8.0]], [[-13.0, -5.0, 0.0], [-19.0, 39.0, -6.0],
             [14.0, -30.0, -9.0], [0.0, 11.0, -3.0]], [[3.0, 7.0, -5.0], [3.0, -4.0, 0.0],
             [31.0, -6.0, 3.0], [-11.0, 19.0, 5.0]], [[-2.0, 8.0, -2.0],
             [-10.0, -11.0, 3.0], [28.0, -15.0, -6.0], [-6.0, 18.0, -4.0]]]]> : tensor<1x4x4x3xf32>},
        tensor<1x4x3x4xf32> {graph.name = "groups_last", graph.expect =
      dense<[[[[24.0, -13.0, 3.0, -2.0], [-15.0, -5.0, 7.0, 8.0], [5.0, 0.0, -5.0, -2.0]],
             [[-9.0, -19.0, 3.0, -10.0], [10.0, 39.0, -4.0, -11.0], [7.0, -6.0, 0.0, 3.0]],
             [[4.0, 14.0, 31.0, 28.0], [-12.0, -30.0, -6.0, -15.0],
             [-6.0, -9.0, 3.0, -6.0]], [[3.0, 0.0, -11.0, -6.0], [6.0, 11.0, 19.0, 18.0],
             [-8.0, -3.0, 5.0, -4.0]]]]> : tensor<1x4x3x4xf32>},
        tensor<1x4x5x2xf32> {graph.name = "depthwise", graph.expect =
      dense<[[[[-19.0, 1.0], [-6.0, -6.0], [-16.0, 13.0], [12.0, -25.0], [9.0, -8.0]],
             [[-4.0, -12.0], [8.0, -26.0], [7.0, 9.0], [8.0, 15.0], [-4.0, 8.0]],
             [[10.0, -4.0], [18.0, -8.0], [7.0, 2.0], [22.0, 15.0], [-18.0, 8.0]],
             [[0.0, 8.0], [-12.0, 13.0], [-6.0, 11.0], [9.0, -24.0], [10.0, -19.0]]]]> : tensor<1x4x5x2xf32>},
        tensor<1x5x2x4xf32> {graph.name = "depthwise_last", graph.expect =
      dense<[[[[-19.0, -4.0, 10.0, 0.0], [1.0, -12.0, -4.0, 8.0]],
             [[-6.0, 8.0, 18.0, -12.0], [-6.0, -26.0, -8.0, 13.0]],
             [[-16.0, 7.0, 7.0, -6.0], [13.0, 9.0, 2.0, 11.0]], [[12.0, 8.0, 22.0, 9.0],
             [-25.0, 15.0, 15.0, -24.0]], [[9.0, -4.0, -18.0, 10.0],
             [-8.0, 8.0, 8.0, -19.0]]]]> : tensor<1x5x2x4xf32>},
        tensor<1x1x4x3x3xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[7.0, -10.0, 4.0], [12.0, -37.0, 15.0], [2.0, 11.0, -25.0]],
             [[-19.0, 8.0, -1.0], [10.0, 5.0, 10.0], [5.0, 14.0, -25.0]], [[1.0, 7.0, -6.0],
             [-6.0, 18.0, 0.0], [-10.0, 5.0, 3.0]], [[5.0, -12.0, -1.0], [10.0, 10.0, 4.0],
             [-19.0, -5.0, 2.0]]]]]> : tensor<1x1x4x3x3xf32>},
        tensor<1x4x3x3x1xf32> {graph.name = "volume_last", graph.expect =
      dense<[[[[[7.0], [-10.0], [4.0]], [[12.0], [-37.0], [15.0]], [[2.0], [11.0],
             [-25.0]]], [[[-19.0], [8.0], [-1.0]], [[10.0], [5.0], [10.0]], [[5.0], [14.0],
             [-25.0]]], [[[1.0], [7.0], [-6.0]], [[-6.0], [18.0], [0.0]], [[-10.0], [5.0],
             [3.0]]], [[[5.0], [-12.0], [-1.0]], [[10.0], [10.0], [4.0]], [[-19.0], [-5.0],
             [2.0]]]]]> : tensor<1x4x3x3x1xf32>},
        tensor<1x1x3x3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[0.0, 5.0, 0.0], [6.0, 18.0, 3.0], [5.0, 13.0, 9.0]]]]> : tensor<1x1x3x3xf64>},
        tensor<1x3x3x1xf64> {graph.name = "double_last", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[0.0], [5.0], [0.0]], [[6.0], [18.0], [3.0]], [[5.0], [13.0], [9.0]]]]> : tensor<1x3x3x1xf64>},
        tensor<1x1x3x3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[0.0, 5.0, 0.0], [6.0, 18.0, 3.0], [5.0, 13.0, 9.0]]]]> : tensor<1x1x3x3xf16>},
        tensor<1x3x3x1xf16> {graph.name = "half_last", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[[[0.0], [5.0], [0.0]], [[6.0], [18.0], [3.0]], [[5.0], [13.0], [9.0]]]]> : tensor<1x3x3x1xf16>},
        tensor<1x1x3x3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[[[0.0, 5.0, 0.0], [6.0, 18.0, 3.0], [5.0, 13.0, 9.0]]]]> : tensor<1x1x3x3xbf16>},
        tensor<1x3x3x1xbf16> {graph.name = "brain_last", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[[[0.0], [5.0], [0.0]], [[6.0], [18.0], [3.0]], [[5.0], [13.0], [9.0]]]]> : tensor<1x3x3x1xbf16>},
        tensor<1x1x3x3xi32> {graph.name = "ints", graph.expect =
      dense<[[[[0, 5, 0], [6, 18, 3], [5, 13, 9]]]]> : tensor<1x1x3x3xi32>},
        tensor<1x3x3x1xi32> {graph.name = "ints_last", graph.expect =
      dense<[[[[0], [5], [0]], [[6], [18], [3]], [[5], [13], [9]]]]> : tensor<1x3x3x1xi32>}) {
  %w = graph.constant dense<[[[1.0, 10.0]]]> : tensor<1x1x2xf32>
  %w32 = graph.constant dense<[[[[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0],
                               [2.0, 0.0], [-2.0, 3.0]], [[1.0, -1.0], [-3.0, 2.0],
                               [0.0, -2.0]]], [[[3.0, 1.0], [-1.0, -3.0], [2.0, 0.0]],
                               [[-2.0, 3.0], [1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0],
                               [3.0, 1.0], [-1.0, -3.0]]], [[[2.0, 0.0], [-2.0, 3.0],
                               [1.0, -1.0]], [[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0]],
                               [[-1.0, -3.0], [2.0, 0.0], [-2.0, 3.0]]], [[[1.0, -1.0],
                               [-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0],
                               [2.0, 0.0]], [[-2.0, 3.0], [1.0, -1.0], [-3.0, 2.0]]]]> : tensor<4x3x3x2xf32>
  %b3 = graph.constant dense<[1.0, -2.0, 3.0]> : tensor<3xf32>
  %wg = graph.constant dense<[[[[-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0]]],
                              [[[2.0, 0.0], [-2.0, 3.0]], [[1.0, -1.0], [-3.0, 2.0]]],
                              [[[0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0], [2.0, 0.0]]],
                              [[[-2.0, 3.0], [1.0, -1.0]], [[-3.0, 2.0], [0.0, -2.0]]]]> : tensor<4x2x2x2xf32>
  %b4 = graph.constant dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>
  %wd = graph.constant dense<[[[[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]]],
                              [[[0.0, -2.0, 3.0], [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]]],
                              [[[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0]]],
                              [[[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]]]]> : tensor<4x1x3x3xf32>
  %wv = graph.constant dense<[[[[[-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0]]]],
                              [[[[2.0, 0.0], [-2.0, 3.0]], [[1.0, -1.0], [-3.0, 2.0]]]]]> : tensor<2x1x2x2x2xf32>
  %w_d = graph.constant dense<[[[[1.0, 0.0], [2.0, 1.0]]], [[[0.0, 1.0], [1.0, 3.0]]]]> : tensor<2x1x2x2xf64>
  %w_h = graph.constant dense<[[[[1.0, 0.0], [2.0, 1.0]]], [[[0.0, 1.0], [1.0, 3.0]]]]> : tensor<2x1x2x2xf16>
  %w_k = graph.constant dense<[[[[1.0, 0.0], [2.0, 1.0]]], [[[0.0, 1.0], [1.0, 3.0]]]]> : tensor<2x1x2x2xbf16>
  %w_i = graph.constant dense<[[[[1, 0], [2, 1]]], [[[0, 1], [1, 3]]]]> : tensor<2x1x2x2xi32>

  // Each element leaves itself and ten times itself behind it: 1, 10 + 2, 20 + 3, 30.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.conv_transpose %x, %w
    {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64,
     output_padding = array<i64: 0>, layout = "NCHW"}
    : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x4xf32>

  // With a stride of 3 they don't meet, and a gap stays; output_padding adds a zero.
  // CHECK: stride_by_hand: reference, unfused, fused agree
  %stride_by_hand = graph.conv_transpose %x, %w
    {strides = array<i64: 3>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64,
     output_padding = array<i64: 1>, layout = "NCHW"}
    : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x9xf32>

  // Pads are cut off: one at the start, two at the end.
  // CHECK: pads_by_hand: reference, unfused, fused agree
  %pads_by_hand = graph.conv_transpose %x, %w
    {strides = array<i64: 1>, pads = array<i64: 1, 2>, dilations = array<i64: 1>, groups = 1 : i64,
     output_padding = array<i64: 0>, layout = "NCHW"}
    : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x1xf32>

  // A dilated kernel leaves ten times itself two places behind.
  // CHECK: dilation_by_hand: reference, unfused, fused agree
  %dilation_by_hand = graph.conv_transpose %x, %w
    {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 2>, groups = 1 : i64,
     output_padding = array<i64: 0>, layout = "NCHW"}
    : (tensor<1x1x3xf32>, tensor<1x1x2xf32>) -> tensor<1x1x5xf32>

  // Four channels to three, with a bias.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.conv_transpose %im, %w32, %b3
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x4x3x2xf32>, tensor<4x3x3x2xf32>, tensor<3xf32>) -> tensor<1x3x5x3xf32>

  // The same with channels last.
  // CHECK: plain_last: reference, unfused, fused agree
  %plain_last = graph.conv_transpose %iml, %w32, %b3
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x3x2x4xf32>, tensor<4x3x3x2xf32>, tensor<3xf32>) -> tensor<1x5x3x3xf32>

  // With a weight and a bias that are not known.
  // CHECK: computed: reference, unfused, fused agree
  %computed = graph.conv_transpose %im, %v32, %c3
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x4x3x2xf32>, tensor<4x3x3x2xf32>, tensor<3xf32>) -> tensor<1x3x5x3xf32>

  // The same with channels last.
  // CHECK: computed_last: reference, unfused, fused agree
  %computed_last = graph.conv_transpose %iml, %v32, %c3
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x3x2x4xf32>, tensor<4x3x3x2xf32>, tensor<3xf32>) -> tensor<1x5x3x3xf32>

  // Twice as large, with padding and output padding.
  // CHECK: strided: reference, unfused, fused agree
  %strided = graph.conv_transpose %im, %w32, %b3
    {strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 1, 0>, layout = "NCHW"}
    : (tensor<1x4x3x2xf32>, tensor<4x3x3x2xf32>, tensor<3xf32>) -> tensor<1x3x6x3xf32>

  // The same with channels last.
  // CHECK: strided_last: reference, unfused, fused agree
  %strided_last = graph.conv_transpose %iml, %w32, %b3
    {strides = array<i64: 2, 2>, pads = array<i64: 1, 0, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 1, 0>, layout = "NHWC"}
    : (tensor<1x3x2x4xf32>, tensor<4x3x3x2xf32>, tensor<3xf32>) -> tensor<1x6x3x3xf32>

  // Dilated, with uneven strides and pads.
  // CHECK: dilated: reference, unfused, fused agree
  %dilated = graph.conv_transpose %im, %w32
    {strides = array<i64: 1, 3>, pads = array<i64: 0, 2, 1, 0>, dilations = array<i64: 2, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x4x3x2xf32>, tensor<4x3x3x2xf32>) -> tensor<1x3x6x3xf32>

  // The same with channels last.
  // CHECK: dilated_last: reference, unfused, fused agree
  %dilated_last = graph.conv_transpose %iml, %w32
    {strides = array<i64: 1, 3>, pads = array<i64: 0, 2, 1, 0>, dilations = array<i64: 2, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x3x2x4xf32>, tensor<4x3x3x2xf32>) -> tensor<1x6x3x3xf32>

  // Two groups of two channels.
  // CHECK: groups: reference, unfused, fused agree
  %groups = graph.conv_transpose %im, %wg, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 2 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x4x3x2xf32>, tensor<4x2x2x2xf32>, tensor<4xf32>) -> tensor<1x4x4x3xf32>

  // The same with channels last.
  // CHECK: groups_last: reference, unfused, fused agree
  %groups_last = graph.conv_transpose %iml, %wg, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 2 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x3x2x4xf32>, tensor<4x2x2x2xf32>, tensor<4xf32>) -> tensor<1x4x3x4xf32>

  // A filter for each channel.
  // CHECK: depthwise: reference, unfused, fused agree
  %depthwise = graph.conv_transpose %im, %wd
    {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 4 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x4x3x2xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x5x2xf32>

  // The same with channels last.
  // CHECK: depthwise_last: reference, unfused, fused agree
  %depthwise_last = graph.conv_transpose %iml, %wd
    {strides = array<i64: 2, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 4 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x3x2x4xf32>, tensor<4x1x3x3xf32>) -> tensor<1x5x2x4xf32>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.conv_transpose %vo, %wv
    {strides = array<i64: 2, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0, 0>, layout = "NCHW"}
    : (tensor<1x2x2x2x2xf32>, tensor<2x1x2x2x2xf32>) -> tensor<1x1x4x3x3xf32>

  // The same with channels last.
  // CHECK: volume_last: reference, unfused, fused agree
  %volume_last = graph.conv_transpose %vol, %wv
    {strides = array<i64: 2, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0, 0>, layout = "NHWC"}
    : (tensor<1x2x2x2x2xf32>, tensor<2x1x2x2x2xf32>) -> tensor<1x4x3x3x1xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.conv_transpose %d, %w_d
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x2x2x2xf64>, tensor<2x1x2x2xf64>) -> tensor<1x1x3x3xf64>

  // The same with channels last.
  // CHECK: double_last: reference, unfused, fused agree
  %double_last = graph.conv_transpose %dl, %w_d
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x2x2x2xf64>, tensor<2x1x2x2xf64>) -> tensor<1x3x3x1xf64>

  // f16, summed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.conv_transpose %h, %w_h
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x2x2x2xf16>, tensor<2x1x2x2xf16>) -> tensor<1x1x3x3xf16>

  // The same with channels last.
  // CHECK: half_last: reference, unfused, fused agree
  %half_last = graph.conv_transpose %hl, %w_h
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x2x2x2xf16>, tensor<2x1x2x2xf16>) -> tensor<1x3x3x1xf16>

  // bf16, summed in f32.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.conv_transpose %k, %w_k
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x2x2x2xbf16>, tensor<2x1x2x2xbf16>) -> tensor<1x1x3x3xbf16>

  // The same with channels last.
  // CHECK: brain_last: reference, unfused, fused agree
  %brain_last = graph.conv_transpose %kl, %w_k
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x2x2x2xbf16>, tensor<2x1x2x2xbf16>) -> tensor<1x3x3x1xbf16>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.conv_transpose %i, %w_i
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NCHW"}
    : (tensor<1x2x2x2xi32>, tensor<2x1x2x2xi32>) -> tensor<1x1x3x3xi32>

  // The same with channels last.
  // CHECK: ints_last: reference, unfused, fused agree
  %ints_last = graph.conv_transpose %il, %w_i
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, output_padding = array<i64: 0, 0>, layout = "NHWC"}
    : (tensor<1x2x2x2xi32>, tensor<2x1x2x2xi32>) -> tensor<1x3x3x1xi32>

  func.return %by_hand, %stride_by_hand, %pads_by_hand, %dilation_by_hand, %plain, %plain_last, %computed,
    %computed_last, %strided, %strided_last, %dilated, %dilated_last, %groups, %groups_last,
    %depthwise, %depthwise_last, %volume, %volume_last, %double, %double_last, %half, %half_last,
    %brain, %brain_last, %ints, %ints_last
    : tensor<1x1x4xf32>, tensor<1x1x9xf32>, tensor<1x1x1xf32>, tensor<1x1x5xf32>, tensor<1x3x5x3xf32>,
      tensor<1x5x3x3xf32>, tensor<1x3x5x3xf32>, tensor<1x5x3x3xf32>, tensor<1x3x6x3xf32>,
      tensor<1x6x3x3xf32>, tensor<1x3x6x3xf32>, tensor<1x6x3x3xf32>, tensor<1x4x4x3xf32>,
      tensor<1x4x3x4xf32>, tensor<1x4x5x2xf32>, tensor<1x5x2x4xf32>, tensor<1x1x4x3x3xf32>,
      tensor<1x4x3x3x1xf32>, tensor<1x1x3x3xf64>, tensor<1x3x3x1xf64>, tensor<1x1x3x3xf16>,
      tensor<1x3x3x1xf16>, tensor<1x1x3x3xbf16>, tensor<1x3x3x1xbf16>, tensor<1x1x3x3xi32>,
      tensor<1x3x3x1xi32>
}
