// RUN: mini-opt %s -t check | filecheck %s

// A weight that is a constant is packed ahead of time, one that is an input is not. Expected values that aren't
// done by hand come from ONNX Runtime; all numbers are whole, so that every order of summation gives the same.

func.func @main(
    %x: tensor<1x1x3x3xf32> {graph.name = "x", graph.value =
      dense<[[[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]]]> : tensor<1x1x3x3xf32>},
    %w: tensor<1x1x2x2xf32> {graph.name = "w", graph.value =
      dense<[[[[1.0, 0.0], [0.0, -1.0]]]]> : tensor<1x1x2x2xf32>},
    %im: tensor<1x3x4x5xf32> {graph.name = "im", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0, 1.0], [-3.0, 4.0, 0.0, -4.0, 3.0],
             [-1.0, -5.0, 2.0, -2.0, 5.0], [1.0, -3.0, 4.0, 0.0, -4.0]],
             [[3.0, -1.0, -5.0, 2.0, -2.0], [5.0, 1.0, -3.0, 4.0, 0.0],
             [-4.0, 3.0, -1.0, -5.0, 2.0], [-2.0, 5.0, 1.0, -3.0, 4.0]],
             [[0.0, -4.0, 3.0, -1.0, -5.0], [2.0, -2.0, 5.0, 1.0, -3.0],
             [4.0, 0.0, -4.0, 3.0, -1.0], [-5.0, 2.0, -2.0, 5.0, 1.0]]]]> : tensor<1x3x4x5xf32>},
    %iml: tensor<1x4x5x3xf32> {graph.name = "iml", graph.value =
      dense<[[[[-5.0, 3.0, 0.0], [2.0, -1.0, -4.0], [-2.0, -5.0, 3.0], [5.0, 2.0, -1.0],
             [1.0, -2.0, -5.0]], [[-3.0, 5.0, 2.0], [4.0, 1.0, -2.0], [0.0, -3.0, 5.0],
             [-4.0, 4.0, 1.0], [3.0, 0.0, -3.0]], [[-1.0, -4.0, 4.0], [-5.0, 3.0, 0.0],
             [2.0, -1.0, -4.0], [-2.0, -5.0, 3.0], [5.0, 2.0, -1.0]], [[1.0, -2.0, -5.0],
             [-3.0, 5.0, 2.0], [4.0, 1.0, -2.0], [0.0, -3.0, 5.0], [-4.0, 4.0, 1.0]]]]> : tensor<1x4x5x3xf32>},
    %v33: tensor<4x3x3x3xf32> {graph.name = "v33", graph.value =
      dense<[[[[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]], [[0.0, -2.0, 3.0],
             [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]], [[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0],
             [-2.0, 3.0, 1.0]]], [[[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]],
             [[2.0, 0.0, -2.0], [3.0, 1.0, -1.0], [-3.0, 2.0, 0.0]], [[-2.0, 3.0, 1.0],
             [-1.0, -3.0, 2.0], [0.0, -2.0, 3.0]]], [[[1.0, -1.0, -3.0], [2.0, 0.0, -2.0],
             [3.0, 1.0, -1.0]], [[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]],
             [[0.0, -2.0, 3.0], [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]]], [[[3.0, 1.0, -1.0],
             [-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0]], [[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0],
             [1.0, -1.0, -3.0]], [[2.0, 0.0, -2.0], [3.0, 1.0, -1.0], [-3.0, 2.0, 0.0]]]]> : tensor<4x3x3x3xf32>},
    %c4: tensor<4xf32> {graph.name = "c4", graph.value = dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>},
    %tiny: tensor<1x3x1x2xf32> {graph.name = "tiny", graph.value =
      dense<[[[[-5.0, 2.0]], [[-2.0, 5.0]], [[1.0, -3.0]]]]> : tensor<1x3x1x2xf32>},
    %tinyl: tensor<1x1x2x3xf32> {graph.name = "tinyl", graph.value =
      dense<[[[[-5.0, -2.0, 1.0], [2.0, 5.0, -3.0]]]]> : tensor<1x1x2x3xf32>})
    -> (tensor<1x1x2x2xf32> {graph.name = "by_hand", graph.expect =
      dense<-4.0> : tensor<1x1x2x2xf32>},
        tensor<1x1x2x2xf32> {graph.name = "weight", graph.expect =
      dense<96.0> : tensor<1x1x2x2xf32>},
        tensor<1x4x4x5xf32> {graph.name = "padded", graph.expect =
      dense<[[[[7.0, 28.0, 14.0, 11.0, -17.0], [-24.0, 23.0, -3.0, 15.0, -36.0],
             [-45.0, 3.0, 32.0, 17.0, 19.0], [-3.0, 3.0, 21.0, -5.0, -11.0]],
             [[1.0, 18.0, 0.0, -29.0, 3.0], [27.0, 29.0, 0.0, -62.0, 9.0],
             [5.0, -6.0, 20.0, 2.0, -14.0], [-2.0, 11.0, 25.0, -5.0, -39.0]],
             [[3.0, -47.0, 8.0, 30.0, -4.0], [30.0, -20.0, -52.0, 37.0, -1.0],
             [7.0, 7.0, -47.0, 9.0, 3.0], [7.0, 20.0, -19.0, -25.0, 39.0]],
             [[-24.0, 20.0, -6.0, -10.0, -5.0], [-24.0, -49.0, 42.0, 23.0, 37.0],
             [-20.0, -23.0, 46.0, -6.0, -23.0], [36.0, -28.0, -22.0, 17.0, 4.0]]]]> : tensor<1x4x4x5xf32>},
        tensor<1x4x5x4xf32> {graph.name = "padded_last", graph.expect =
      dense<[[[[7.0, 1.0, 3.0, -24.0], [28.0, 18.0, -47.0, 20.0], [14.0, 0.0, 8.0, -6.0],
             [11.0, -29.0, 30.0, -10.0], [-17.0, 3.0, -4.0, -5.0]],
             [[-24.0, 27.0, 30.0, -24.0], [23.0, 29.0, -20.0, -49.0],
             [-3.0, 0.0, -52.0, 42.0], [15.0, -62.0, 37.0, 23.0], [-36.0, 9.0, -1.0, 37.0]],
             [[-45.0, 5.0, 7.0, -20.0], [3.0, -6.0, 7.0, -23.0], [32.0, 20.0, -47.0, 46.0],
             [17.0, 2.0, 9.0, -6.0], [19.0, -14.0, 3.0, -23.0]], [[-3.0, -2.0, 7.0, 36.0],
             [3.0, 11.0, 20.0, -28.0], [21.0, 25.0, -19.0, -22.0],
             [-5.0, -5.0, -25.0, 17.0], [-11.0, -39.0, 39.0, 4.0]]]]> : tensor<1x4x5x4xf32>},
        tensor<1x4x4x5xf32> {graph.name = "computed", graph.expect =
      dense<[[[[7.0, 28.0, 14.0, 11.0, -17.0], [-24.0, 23.0, -3.0, 15.0, -36.0],
             [-45.0, 3.0, 32.0, 17.0, 19.0], [-3.0, 3.0, 21.0, -5.0, -11.0]],
             [[1.0, 18.0, 0.0, -29.0, 3.0], [27.0, 29.0, 0.0, -62.0, 9.0],
             [5.0, -6.0, 20.0, 2.0, -14.0], [-2.0, 11.0, 25.0, -5.0, -39.0]],
             [[3.0, -47.0, 8.0, 30.0, -4.0], [30.0, -20.0, -52.0, 37.0, -1.0],
             [7.0, 7.0, -47.0, 9.0, 3.0], [7.0, 20.0, -19.0, -25.0, 39.0]],
             [[-24.0, 20.0, -6.0, -10.0, -5.0], [-24.0, -49.0, 42.0, 23.0, 37.0],
             [-20.0, -23.0, 46.0, -6.0, -23.0], [36.0, -28.0, -22.0, 17.0, 4.0]]]]> : tensor<1x4x4x5xf32>},
        tensor<1x4x5x4xf32> {graph.name = "computed_last", graph.expect =
      dense<[[[[7.0, 1.0, 3.0, -24.0], [28.0, 18.0, -47.0, 20.0], [14.0, 0.0, 8.0, -6.0],
             [11.0, -29.0, 30.0, -10.0], [-17.0, 3.0, -4.0, -5.0]],
             [[-24.0, 27.0, 30.0, -24.0], [23.0, 29.0, -20.0, -49.0],
             [-3.0, 0.0, -52.0, 42.0], [15.0, -62.0, 37.0, 23.0], [-36.0, 9.0, -1.0, 37.0]],
             [[-45.0, 5.0, 7.0, -20.0], [3.0, -6.0, 7.0, -23.0], [32.0, 20.0, -47.0, 46.0],
             [17.0, 2.0, 9.0, -6.0], [19.0, -14.0, 3.0, -23.0]], [[-3.0, -2.0, 7.0, 36.0],
             [3.0, 11.0, 20.0, -28.0], [21.0, 25.0, -19.0, -22.0],
             [-5.0, -5.0, -25.0, 17.0], [-11.0, -39.0, 39.0, 4.0]]]]> : tensor<1x4x5x4xf32>},
        tensor<1x4x2x3xf32> {graph.name = "plain", graph.expect =
      dense<[[[[22.0, -4.0, 14.0], [2.0, 31.0, 16.0]], [[31.0, 2.0, -60.0],
             [-4.0, 22.0, 4.0]], [[-23.0, -55.0, 34.0], [4.0, -50.0, 6.0]],
             [[-49.0, 42.0, 23.0], [-23.0, 46.0, -6.0]]]]> : tensor<1x4x2x3xf32>},
        tensor<1x2x3x4xf32> {graph.name = "plain_last", graph.expect =
      dense<[[[[22.0, 31.0, -23.0, -49.0], [-4.0, 2.0, -55.0, 42.0],
             [14.0, -60.0, 34.0, 23.0]], [[2.0, -4.0, 4.0, -23.0],
             [31.0, 22.0, -50.0, 46.0], [16.0, 4.0, 6.0, -6.0]]]]> : tensor<1x2x3x4xf32>},
        tensor<1x4x2x2xf32> {graph.name = "strided", graph.expect =
      dense<[[[[7.0, 11.0], [-45.0, 17.0]], [[1.0, -29.0], [5.0, 2.0]], [[3.0, 30.0],
             [7.0, 9.0]], [[-24.0, -10.0], [-20.0, -6.0]]]]> : tensor<1x4x2x2xf32>},
        tensor<1x2x2x4xf32> {graph.name = "strided_last", graph.expect =
      dense<[[[[7.0, 1.0, 3.0, -24.0], [11.0, -29.0, 30.0, -10.0]],
             [[-45.0, 5.0, 7.0, -20.0], [17.0, 2.0, 9.0, -6.0]]]]> : tensor<1x2x2x4xf32>},
        tensor<1x4x3x6xf32> {graph.name = "asymmetric", graph.expect =
      dense<[[[[-13.0, 12.0, -18.0, -15.0, 21.0, 1.0], [25.0, 4.0, -6.0, 6.0, 15.0, 1.0],
             [19.0, -24.0, -1.0, 0.0, -24.0, 1.0]],
             [[-18.0, -17.0, -5.0, -26.0, -11.0, -2.0],
             [-5.0, -27.0, 28.0, 28.0, -2.0, -2.0],
             [28.0, -27.0, -5.0, -16.0, -20.0, -2.0]], [[20.0, 18.0, 16.0, -8.0, 0.0, 3.0],
             [1.0, -22.0, 21.0, 9.0, 17.0, 3.0], [-4.0, 6.0, 27.0, 4.0, 6.0, 3.0]],
             [[15.0, 17.0, 8.0, -12.0, 3.0, 0.0], [-8.0, -4.0, -22.0, -18.0, 0.0, 0.0],
             [12.0, 38.0, 9.0, 2.0, -4.0, 0.0]]]]> : tensor<1x4x3x6xf32>},
        tensor<1x3x6x4xf32> {graph.name = "asymmetric_last", graph.expect =
      dense<[[[[-13.0, -18.0, 20.0, 15.0], [12.0, -17.0, 18.0, 17.0],
             [-18.0, -5.0, 16.0, 8.0], [-15.0, -26.0, -8.0, -12.0], [21.0, -11.0, 0.0, 3.0],
             [1.0, -2.0, 3.0, 0.0]], [[25.0, -5.0, 1.0, -8.0], [4.0, -27.0, -22.0, -4.0],
             [-6.0, 28.0, 21.0, -22.0], [6.0, 28.0, 9.0, -18.0], [15.0, -2.0, 17.0, 0.0],
             [1.0, -2.0, 3.0, 0.0]], [[19.0, 28.0, -4.0, 12.0], [-24.0, -27.0, 6.0, 38.0],
             [-1.0, -5.0, 27.0, 9.0], [0.0, -16.0, 4.0, 2.0], [-24.0, -20.0, 6.0, -4.0],
             [1.0, -2.0, 3.0, 0.0]]]]> : tensor<1x3x6x4xf32>},
        tensor<1x4x2x2xf32> {graph.name = "dilated", graph.expect =
      dense<[[[[-7.0, 36.0], [-29.0, -3.0]], [[1.0, -3.0], [-3.0, -3.0]], [[-4.0, -13.0],
             [24.0, 26.0]], [[-17.0, -31.0], [29.0, 33.0]]]]> : tensor<1x4x2x2xf32>},
        tensor<1x2x2x4xf32> {graph.name = "dilated_last", graph.expect =
      dense<[[[[-7.0, 1.0, -4.0, -17.0], [36.0, -3.0, -13.0, -31.0]],
             [[-29.0, -3.0, 24.0, 29.0], [-3.0, -3.0, 26.0, 33.0]]]]> : tensor<1x2x2x4xf32>},
        tensor<1x7x4x5xf32> {graph.name = "pointwise", graph.expect =
      dense<[[[[15.0, -18.0, 15.0, -18.0, -18.0], [15.0, -18.0, 15.0, 15.0, -18.0],
             [15.0, 15.0, -18.0, 15.0, -18.0], [-18.0, 15.0, -18.0, 15.0, 15.0]],
             [[11.0, 4.0, -14.0, 1.0, 5.0], [9.0, 2.0, -16.0, 10.0, 3.0],
             [-15.0, 11.0, 4.0, -14.0, 1.0], [5.0, 9.0, 2.0, -16.0, 10.0]],
             [[-14.0, 5.0, 13.0, -1.0, 7.0], [-18.0, 1.0, 9.0, -16.0, 3.0],
             [11.0, -14.0, 5.0, 13.0, -1.0], [7.0, -18.0, 1.0, 9.0, -16.0]],
             [[-18.0, -1.0, 5.0, 11.0, -5.0], [-10.0, 7.0, 13.0, -14.0, 3.0],
             [9.0, -18.0, -1.0, 5.0, 11.0], [-5.0, -10.0, 7.0, 13.0, -14.0]],
             [[13.0, 7.0, -10.0, -5.0, 11.0], [5.0, -1.0, -18.0, 9.0, 3.0],
             [-14.0, 13.0, 7.0, -10.0, -5.0], [11.0, 5.0, -1.0, -18.0, 9.0]],
             [[9.0, 1.0, -18.0, 7.0, -1.0], [13.0, 5.0, -14.0, 11.0, 3.0],
             [-16.0, 9.0, 1.0, -18.0, 7.0], [-1.0, 13.0, 5.0, -14.0, 11.0]],
             [[-16.0, 2.0, 9.0, 5.0, 1.0], [-14.0, 4.0, 11.0, -15.0, 3.0],
             [10.0, -16.0, 2.0, 9.0, 5.0], [1.0, -14.0, 4.0, 11.0, -15.0]]]]> : tensor<1x7x4x5xf32>},
        tensor<1x4x5x7xf32> {graph.name = "pointwise_last", graph.expect =
      dense<[[[[15.0, 11.0, -14.0, -18.0, 13.0, 9.0, -16.0],
             [-18.0, 4.0, 5.0, -1.0, 7.0, 1.0, 2.0],
             [15.0, -14.0, 13.0, 5.0, -10.0, -18.0, 9.0],
             [-18.0, 1.0, -1.0, 11.0, -5.0, 7.0, 5.0],
             [-18.0, 5.0, 7.0, -5.0, 11.0, -1.0, 1.0]],
             [[15.0, 9.0, -18.0, -10.0, 5.0, 13.0, -14.0],
             [-18.0, 2.0, 1.0, 7.0, -1.0, 5.0, 4.0],
             [15.0, -16.0, 9.0, 13.0, -18.0, -14.0, 11.0],
             [15.0, 10.0, -16.0, -14.0, 9.0, 11.0, -15.0],
             [-18.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]],
             [[15.0, -15.0, 11.0, 9.0, -14.0, -16.0, 10.0],
             [15.0, 11.0, -14.0, -18.0, 13.0, 9.0, -16.0],
             [-18.0, 4.0, 5.0, -1.0, 7.0, 1.0, 2.0],
             [15.0, -14.0, 13.0, 5.0, -10.0, -18.0, 9.0],
             [-18.0, 1.0, -1.0, 11.0, -5.0, 7.0, 5.0]],
             [[-18.0, 5.0, 7.0, -5.0, 11.0, -1.0, 1.0],
             [15.0, 9.0, -18.0, -10.0, 5.0, 13.0, -14.0],
             [-18.0, 2.0, 1.0, 7.0, -1.0, 5.0, 4.0],
             [15.0, -16.0, 9.0, 13.0, -18.0, -14.0, 11.0],
             [15.0, 10.0, -16.0, -14.0, 9.0, 11.0, -15.0]]]]> : tensor<1x4x5x7xf32>},
        tensor<1x7x2x3xf32> {graph.name = "pointwise_strided", graph.expect =
      dense<[[[[15.0, 15.0, -18.0], [15.0, -18.0, -18.0]], [[11.0, -14.0, 5.0],
             [-15.0, 4.0, 1.0]], [[-14.0, 13.0, 7.0], [11.0, 5.0, -1.0]],
             [[-18.0, 5.0, -5.0], [9.0, -1.0, 11.0]], [[13.0, -10.0, 11.0],
             [-14.0, 7.0, -5.0]], [[9.0, -18.0, -1.0], [-16.0, 1.0, 7.0]],
             [[-16.0, 9.0, 1.0], [10.0, 2.0, 5.0]]]]> : tensor<1x7x2x3xf32>},
        tensor<1x2x3x7xf32> {graph.name = "pointwise_strided_last", graph.expect =
      dense<[[[[15.0, 11.0, -14.0, -18.0, 13.0, 9.0, -16.0],
             [15.0, -14.0, 13.0, 5.0, -10.0, -18.0, 9.0],
             [-18.0, 5.0, 7.0, -5.0, 11.0, -1.0, 1.0]],
             [[15.0, -15.0, 11.0, 9.0, -14.0, -16.0, 10.0],
             [-18.0, 4.0, 5.0, -1.0, 7.0, 1.0, 2.0],
             [-18.0, 1.0, -1.0, 11.0, -5.0, 7.0, 5.0]]]]> : tensor<1x2x3x7xf32>},
        tensor<1x7x5x6xf32> {graph.name = "pointwise_padded", graph.expect =
      dense<[[[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [15.0, -18.0, 15.0, -18.0, -18.0, 0.0],
             [15.0, -18.0, 15.0, 15.0, -18.0, 0.0], [15.0, 15.0, -18.0, 15.0, -18.0, 0.0],
             [-18.0, 15.0, -18.0, 15.0, 15.0, 0.0]], [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
             [11.0, 4.0, -14.0, 1.0, 5.0, 0.0], [9.0, 2.0, -16.0, 10.0, 3.0, 0.0],
             [-15.0, 11.0, 4.0, -14.0, 1.0, 0.0], [5.0, 9.0, 2.0, -16.0, 10.0, 0.0]],
             [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [-14.0, 5.0, 13.0, -1.0, 7.0, 0.0],
             [-18.0, 1.0, 9.0, -16.0, 3.0, 0.0], [11.0, -14.0, 5.0, 13.0, -1.0, 0.0],
             [7.0, -18.0, 1.0, 9.0, -16.0, 0.0]], [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
             [-18.0, -1.0, 5.0, 11.0, -5.0, 0.0], [-10.0, 7.0, 13.0, -14.0, 3.0, 0.0],
             [9.0, -18.0, -1.0, 5.0, 11.0, 0.0], [-5.0, -10.0, 7.0, 13.0, -14.0, 0.0]],
             [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [13.0, 7.0, -10.0, -5.0, 11.0, 0.0],
             [5.0, -1.0, -18.0, 9.0, 3.0, 0.0], [-14.0, 13.0, 7.0, -10.0, -5.0, 0.0],
             [11.0, 5.0, -1.0, -18.0, 9.0, 0.0]], [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
             [9.0, 1.0, -18.0, 7.0, -1.0, 0.0], [13.0, 5.0, -14.0, 11.0, 3.0, 0.0],
             [-16.0, 9.0, 1.0, -18.0, 7.0, 0.0], [-1.0, 13.0, 5.0, -14.0, 11.0, 0.0]],
             [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [-16.0, 2.0, 9.0, 5.0, 1.0, 0.0],
             [-14.0, 4.0, 11.0, -15.0, 3.0, 0.0], [10.0, -16.0, 2.0, 9.0, 5.0, 0.0],
             [1.0, -14.0, 4.0, 11.0, -15.0, 0.0]]]]> : tensor<1x7x5x6xf32>},
        tensor<1x5x6x7xf32> {graph.name = "pointwise_padded_last", graph.expect =
      dense<[[[[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
             [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
             [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
             [[15.0, 11.0, -14.0, -18.0, 13.0, 9.0, -16.0],
             [-18.0, 4.0, 5.0, -1.0, 7.0, 1.0, 2.0],
             [15.0, -14.0, 13.0, 5.0, -10.0, -18.0, 9.0],
             [-18.0, 1.0, -1.0, 11.0, -5.0, 7.0, 5.0],
             [-18.0, 5.0, 7.0, -5.0, 11.0, -1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
             [[15.0, 9.0, -18.0, -10.0, 5.0, 13.0, -14.0],
             [-18.0, 2.0, 1.0, 7.0, -1.0, 5.0, 4.0],
             [15.0, -16.0, 9.0, 13.0, -18.0, -14.0, 11.0],
             [15.0, 10.0, -16.0, -14.0, 9.0, 11.0, -15.0],
             [-18.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
             [[15.0, -15.0, 11.0, 9.0, -14.0, -16.0, 10.0],
             [15.0, 11.0, -14.0, -18.0, 13.0, 9.0, -16.0],
             [-18.0, 4.0, 5.0, -1.0, 7.0, 1.0, 2.0],
             [15.0, -14.0, 13.0, 5.0, -10.0, -18.0, 9.0],
             [-18.0, 1.0, -1.0, 11.0, -5.0, 7.0, 5.0], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]],
             [[-18.0, 5.0, 7.0, -5.0, 11.0, -1.0, 1.0],
             [15.0, 9.0, -18.0, -10.0, 5.0, 13.0, -14.0],
             [-18.0, 2.0, 1.0, 7.0, -1.0, 5.0, 4.0],
             [15.0, -16.0, 9.0, 13.0, -18.0, -14.0, 11.0],
             [15.0, 10.0, -16.0, -14.0, 9.0, 11.0, -15.0],
             [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]]]> : tensor<1x5x6x7xf32>},
        tensor<1x4x3x4xf32> {graph.name = "mostly_padding", graph.expect =
      dense<[[[[-4.0, 10.0, -15.0, 15.0], [2.0, -23.0, 1.0, 11.0],
             [-6.0, 14.0, 10.0, -14.0]], [[16.0, -18.0, 13.0, -15.0],
             [-13.0, -2.0, 1.0, 16.0], [-7.0, 7.0, -18.0, 12.0]], [[2.0, 18.0, -21.0, -2.0],
             [8.0, 6.0, 16.0, -6.0], [21.0, -13.0, 18.0, -10.0]], [[1.0, -24.0, 0.0, 10.0],
             [-7.0, 13.0, 9.0, -15.0], [-1.0, 15.0, -24.0, -5.0]]]]> : tensor<1x4x3x4xf32>},
        tensor<1x3x4x4xf32> {graph.name = "mostly_padding_last", graph.expect =
      dense<[[[[-4.0, 16.0, 2.0, 1.0], [10.0, -18.0, 18.0, -24.0],
             [-15.0, 13.0, -21.0, 0.0], [15.0, -15.0, -2.0, 10.0]],
             [[2.0, -13.0, 8.0, -7.0], [-23.0, -2.0, 6.0, 13.0], [1.0, 1.0, 16.0, 9.0],
             [11.0, 16.0, -6.0, -15.0]], [[-6.0, -7.0, 21.0, -1.0],
             [14.0, 7.0, -13.0, 15.0], [10.0, -18.0, 18.0, -24.0],
             [-14.0, 12.0, -10.0, -5.0]]]]> : tensor<1x3x4x4xf32>}) {
  %kw = graph.constant dense<[[[[1.0, 0.0], [0.0, -1.0]]]]> : tensor<1x1x2x2xf32>
  %one_bias = graph.constant dense<[100.0]> : tensor<1xf32>
  %w33 = graph.constant dense<[[[[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]],
                               [[0.0, -2.0, 3.0], [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]],
                               [[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0]]],
                               [[[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]],
                               [[2.0, 0.0, -2.0], [3.0, 1.0, -1.0], [-3.0, 2.0, 0.0]],
                               [[-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0], [0.0, -2.0, 3.0]]],
                               [[[1.0, -1.0, -3.0], [2.0, 0.0, -2.0], [3.0, 1.0, -1.0]],
                               [[-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0], [-1.0, -3.0, 2.0]],
                               [[0.0, -2.0, 3.0], [1.0, -1.0, -3.0], [2.0, 0.0, -2.0]]],
                               [[[3.0, 1.0, -1.0], [-3.0, 2.0, 0.0], [-2.0, 3.0, 1.0]],
                               [[-1.0, -3.0, 2.0], [0.0, -2.0, 3.0], [1.0, -1.0, -3.0]],
                               [[2.0, 0.0, -2.0], [3.0, 1.0, -1.0], [-3.0, 2.0, 0.0]]]]> : tensor<4x3x3x3xf32>
  %w32 = graph.constant dense<[[[[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0]], [[-1.0, -3.0],
                               [2.0, 0.0], [-2.0, 3.0]], [[1.0, -1.0], [-3.0, 2.0],
                               [0.0, -2.0]]], [[[3.0, 1.0], [-1.0, -3.0], [2.0, 0.0]],
                               [[-2.0, 3.0], [1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0],
                               [3.0, 1.0], [-1.0, -3.0]]], [[[2.0, 0.0], [-2.0, 3.0],
                               [1.0, -1.0]], [[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0]],
                               [[-1.0, -3.0], [2.0, 0.0], [-2.0, 3.0]]], [[[1.0, -1.0],
                               [-3.0, 2.0], [0.0, -2.0]], [[3.0, 1.0], [-1.0, -3.0],
                               [2.0, 0.0]], [[-2.0, 3.0], [1.0, -1.0], [-3.0, 2.0]]]]> : tensor<4x3x3x2xf32>
  %b4 = graph.constant dense<[1.0, -2.0, 3.0, 0.0]> : tensor<4xf32>
  %w11 = graph.constant dense<[[[[-3.0]], [[0.0]], [[3.0]]], [[[-1.0]], [[2.0]], [[-2.0]]],
                               [[[1.0]], [[-3.0]], [[0.0]]], [[[3.0]], [[-1.0]], [[2.0]]],
                               [[[-2.0]], [[1.0]], [[-3.0]]], [[[0.0]], [[3.0]], [[-1.0]]],
                               [[[2.0]], [[-2.0]], [[1.0]]]]> : tensor<7x3x1x1xf32>

  // Each element minus the one below to the right.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.conv %x, %w
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>) -> tensor<1x1x2x2xf32>

  // With a weight that is known, and a bias of one element.
  // CHECK: weight: reference, unfused, fused agree
  %weight = graph.conv %x, %kw, %one_bias
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x1x3x3xf32>, tensor<1x1x2x2xf32>, tensor<1xf32>) -> tensor<1x1x2x2xf32>

  // A 3x3 window, padded all round, with a bias.
  // CHECK: padded: reference, unfused, fused agree
  %padded = graph.conv %im, %w33, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x3x4x5xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x5xf32>

  // The same with channels last.
  // CHECK: padded_last: reference, unfused, fused agree
  %padded_last = graph.conv %iml, %w33, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x4x5x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x5x4xf32>

  // The same with a weight and a bias that are not known.
  // CHECK: computed: reference, unfused, fused agree
  %computed = graph.conv %im, %v33, %c4
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x3x4x5xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x4x5xf32>

  // The same with channels last.
  // CHECK: computed_last: reference, unfused, fused agree
  %computed_last = graph.conv %iml, %v33, %c4
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x4x5x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x5x4xf32>

  // Without padding and without a bias.
  // CHECK: plain: reference, unfused, fused agree
  %plain = graph.conv %im, %w33
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x5xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x2x3xf32>

  // The same with channels last.
  // CHECK: plain_last: reference, unfused, fused agree
  %plain_last = graph.conv %iml, %w33
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x3xf32>, tensor<4x3x3x3xf32>) -> tensor<1x2x3x4xf32>

  // Every second row and every third column.
  // CHECK: strided: reference, unfused, fused agree
  %strided = graph.conv %im, %w33, %b4
    {strides = array<i64: 2, 3>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x3x4x5xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x2x2xf32>

  // The same with channels last.
  // CHECK: strided_last: reference, unfused, fused agree
  %strided_last = graph.conv %iml, %w33, %b4
    {strides = array<i64: 2, 3>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x4x5x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x2x2x4xf32>

  // Padding on the top and, twice, on the right only; the window is 3x2.
  // CHECK: asymmetric: reference, unfused, fused agree
  %asymmetric = graph.conv %im, %w32, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 2>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x3x4x5xf32>, tensor<4x3x3x2xf32>, tensor<4xf32>) -> tensor<1x4x3x6xf32>

  // The same with channels last.
  // CHECK: asymmetric_last: reference, unfused, fused agree
  %asymmetric_last = graph.conv %iml, %w32, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 2>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x4x5x3xf32>, tensor<4x3x3x2xf32>, tensor<4xf32>) -> tensor<1x3x6x4xf32>

  // A window spread over 3 rows and 5 columns.
  // CHECK: dilated: reference, unfused, fused agree
  %dilated = graph.conv %im, %w32, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 0>, dilations = array<i64: 1, 4>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x3x4x5xf32>, tensor<4x3x3x2xf32>, tensor<4xf32>) -> tensor<1x4x2x2xf32>

  // The same with channels last.
  // CHECK: dilated_last: reference, unfused, fused agree
  %dilated_last = graph.conv %iml, %w32, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 1, 0, 0>, dilations = array<i64: 1, 4>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x4x5x3xf32>, tensor<4x3x3x2xf32>, tensor<4xf32>) -> tensor<1x2x2x4xf32>

  // A window of one element is a matrix product: 3 channels to 7.
  // CHECK: pointwise: reference, unfused, fused agree
  %pointwise = graph.conv %im, %w11
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x5xf32>, tensor<7x3x1x1xf32>) -> tensor<1x7x4x5xf32>

  // The same with channels last.
  // CHECK: pointwise_last: reference, unfused, fused agree
  %pointwise_last = graph.conv %iml, %w11
    {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x3xf32>, tensor<7x3x1x1xf32>) -> tensor<1x4x5x7xf32>

  // With strides.
  // CHECK: pointwise_strided: reference, unfused, fused agree
  %pointwise_strided = graph.conv %im, %w11
    {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x5xf32>, tensor<7x3x1x1xf32>) -> tensor<1x7x2x3xf32>

  // The same with channels last.
  // CHECK: pointwise_strided_last: reference, unfused, fused agree
  %pointwise_strided_last = graph.conv %iml, %w11
    {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x3xf32>, tensor<7x3x1x1xf32>) -> tensor<1x2x3x7xf32>

  // With padding, which gives zeros.
  // CHECK: pointwise_padded: reference, unfused, fused agree
  %pointwise_padded = graph.conv %im, %w11
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"} : (tensor<1x3x4x5xf32>, tensor<7x3x1x1xf32>) -> tensor<1x7x5x6xf32>

  // The same with channels last.
  // CHECK: pointwise_padded_last: reference, unfused, fused agree
  %pointwise_padded_last = graph.conv %iml, %w11
    {strides = array<i64: 1, 1>, pads = array<i64: 1, 0, 0, 1>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x3xf32>, tensor<7x3x1x1xf32>) -> tensor<1x5x6x7xf32>

  // A window that is larger than the image without its padding.
  // CHECK: mostly_padding: reference, unfused, fused agree
  %mostly_padding = graph.conv %tiny, %w33, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x3x1x2xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x3x4xf32>

  // The same with channels last.
  // CHECK: mostly_padding_last: reference, unfused, fused agree
  %mostly_padding_last = graph.conv %tinyl, %w33, %b4
    {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>,
     groups = 1 : i64, layout = "NHWC"}
    : (tensor<1x1x2x3xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x3x4x4xf32>

  func.return %by_hand, %weight, %padded, %padded_last, %computed, %computed_last, %plain, %plain_last, %strided,
    %strided_last, %asymmetric, %asymmetric_last, %dilated, %dilated_last, %pointwise,
    %pointwise_last, %pointwise_strided, %pointwise_strided_last, %pointwise_padded,
    %pointwise_padded_last, %mostly_padding, %mostly_padding_last
    : tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1x4x4x5xf32>, tensor<1x4x5x4xf32>,
      tensor<1x4x4x5xf32>, tensor<1x4x5x4xf32>, tensor<1x4x2x3xf32>, tensor<1x2x3x4xf32>,
      tensor<1x4x2x2xf32>, tensor<1x2x2x4xf32>, tensor<1x4x3x6xf32>, tensor<1x3x6x4xf32>,
      tensor<1x4x2x2xf32>, tensor<1x2x2x4xf32>, tensor<1x7x4x5xf32>, tensor<1x4x5x7xf32>,
      tensor<1x7x2x3xf32>, tensor<1x2x3x7xf32>, tensor<1x7x5x6xf32>, tensor<1x5x6x7xf32>,
      tensor<1x4x3x4xf32>, tensor<1x3x4x4xf32>
}
