// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %a: tensor<2x2xf32> {graph.name = "a", graph.value =
      dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>},
    %b: tensor<2x2xf32> {graph.name = "b", graph.value =
      dense<[[5.0, 6.0], [7.0, -8.0]]> : tensor<2x2xf32>},
    %p: tensor<5x7xf32> {graph.name = "p", graph.value =
      dense<[[-5.0, 2.0, -2.0, 5.0, 1.0, -3.0, 4.0],
             [0.0, -4.0, 3.0, -1.0, -5.0, 2.0, -2.0], [5.0, 1.0, -3.0, 4.0, 0.0, -4.0, 3.0],
             [-1.0, -5.0, 2.0, -2.0, 5.0, 1.0, -3.0], [4.0, 0.0, -4.0, 3.0, -1.0, -5.0, 2.0]]> : tensor<5x7xf32>},
    %q: tensor<7x37xf32> {graph.name = "q", graph.value =
      dense<[[-6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0,
             -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0,
             4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0], [-3.0, 2.0, -6.0, -1.0, 4.0,
             -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0,
             1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0,
             6.0, -2.0, 3.0, -5.0], [0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0,
             -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0,
             3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0], [3.0,
             -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0,
             0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0,
             5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0], [6.0, -2.0, 3.0, -5.0, 0.0, 5.0,
             -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0,
             2.0, -6.0, -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0,
             -6.0, -1.0, 4.0], [-4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0,
             -1.0, 4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0,
             4.0, -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0], [-1.0, 4.0,
             -4.0, 1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0,
             1.0, 6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0, 2.0, -6.0, -1.0, 4.0, -4.0, 1.0,
             6.0, -2.0, 3.0, -5.0, 0.0, 5.0, -3.0]]> : tensor<7x37xf32>},
    %tall: tensor<33x3xf32> {graph.name = "tall", graph.value =
      dense<[[-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0],
             [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0],
             [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0],
             [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0],
             [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0],
             [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0],
             [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0],
             [-1.0, 3.0, -2.0], [2.0, -3.0, 1.0], [-4.0, 0.0, 4.0], [-1.0, 3.0, -2.0],
             [2.0, -3.0, 1.0]]> : tensor<33x3xf32>},
    %c: tensor<2x1x3x4xf32> {graph.name = "c", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0], [1.0, -3.0, 4.0, 0.0], [-4.0, 3.0, -1.0, -5.0]]],
             [[[2.0, -2.0, 5.0, 1.0], [-3.0, 4.0, 0.0, -4.0], [3.0, -1.0, -5.0, 2.0]]]]> : tensor<2x1x3x4xf32>},
    %d: tensor<3x4x2xf32> {graph.name = "d", graph.value =
      dense<[[[-3.0, 2.0], [0.0, -2.0], [3.0, 1.0], [-1.0, -3.0]], [[2.0, 0.0],
             [-2.0, 3.0], [1.0, -1.0], [-3.0, 2.0]], [[0.0, -2.0], [3.0, 1.0], [-1.0, -3.0],
             [2.0, 0.0]]]> : tensor<3x4x2xf32>},
    %e: tensor<2x1x4x3xf32> {graph.name = "e", graph.value =
      dense<[[[[-5.0, 2.0, -2.0], [5.0, 1.0, -3.0], [4.0, 0.0, -4.0], [3.0, -1.0, -5.0]]],
             [[[2.0, -2.0, 5.0], [1.0, -3.0, 4.0], [0.0, -4.0, 3.0], [-1.0, -5.0, 2.0]]]]> : tensor<2x1x4x3xf32>},
    %one: tensor<2x3xf32> {graph.name = "one", graph.value =
      dense<[[-2.0, 1.0, -1.0], [2.0, 0.0, -2.0]]> : tensor<2x3xf32>},
    %row: tensor<1x3xf32> {graph.name = "row", graph.value =
      dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>},
    %column: tensor<3x1xf32> {graph.name = "column", graph.value =
      dense<[[4.0], [5.0], [6.0]]> : tensor<3x1xf32>},
    %g: tensor<2x2xf32> {graph.name = "g", graph.value =
      dense<[[1.0, 0.0], [0.0, 1.0]]> : tensor<2x2xf32>},
    %n: tensor<2x2xf32> {graph.name = "n", graph.value =
      dense<[[0x7FC00000, 2.0], [0x7F800000, 3.0]]> : tensor<2x2xf32>},
    %k0: tensor<2x0xf32> {graph.name = "k0", graph.value = dense<> : tensor<2x0xf32>},
    %k1: tensor<0x3xf32> {graph.name = "k1", graph.value = dense<> : tensor<0x3xf32>},
    %i: tensor<1x3xi32> {graph.name = "i", graph.value = dense<[[1, -2, 3]]> : tensor<1x3xi32>},
    %i2: tensor<3x1xi32> {graph.name = "i2", graph.value = dense<[[4], [5], [7]]> : tensor<3x1xi32>},
    %l: tensor<1x3xi64> {graph.name = "l", graph.value =
      dense<[[8589934592, 1, -1]]> : tensor<1x3xi64>},
    %l2: tensor<3x1xi64> {graph.name = "l2", graph.value = dense<[[2], [3], [4]]> : tensor<3x1xi64>},
    %c8: tensor<1x3xi8> {graph.name = "c8", graph.value = dense<[[50, 0, 0]]> : tensor<1x3xi8>},
    %c82: tensor<3x1xi8> {graph.name = "c82", graph.value = dense<[[3], [1], [1]]> : tensor<3x1xi8>},
    %dd: tensor<1x3xf64> {graph.name = "dd", graph.value =
      dense<[[1.0, -2.0, 3.0]]> : tensor<1x3xf64>},
    %dd2: tensor<3x1xf64> {graph.name = "dd2", graph.value =
      dense<[[4.0], [5.0], [7.0]]> : tensor<3x1xf64>},
    %h: tensor<1x3xf16> {graph.name = "h", graph.value =
      dense<[[2048.0, 1.0, 1.0]]> : tensor<1x3xf16>},
    %h2: tensor<3x1xf16> {graph.name = "h2", graph.value =
      dense<1.0> : tensor<3x1xf16>},
    %k: tensor<1x3xbf16> {graph.name = "k", graph.value =
      dense<[[256.0, 1.0, 1.0]]> : tensor<1x3xbf16>},
    %k2: tensor<3x1xbf16> {graph.name = "k2", graph.value =
      dense<1.0> : tensor<3x1xbf16>})
    -> (tensor<2x2xf32> {graph.name = "by_hand", graph.expect =
      dense<[[19.0, -10.0], [43.0, -14.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "transposed_a", graph.expect =
      dense<[[26.0, -18.0], [38.0, -20.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "transposed_b", graph.expect =
      dense<[[17.0, -9.0], [39.0, -11.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "transposed_both", graph.expect =
      dense<[[23.0, -17.0], [34.0, -18.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "weight", graph.expect =
      dense<[[19.0, -10.0], [43.0, -14.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "weight_transposed", graph.expect =
      dense<[[17.0, -9.0], [39.0, -11.0]]> : tensor<2x2xf32>},
        tensor<2x2xf32> {graph.name = "weight_left", graph.expect =
      dense<[[19.0, -10.0], [43.0, -14.0]]> : tensor<2x2xf32>},
        tensor<5x37xf32> {graph.name = "odd", graph.expect =
      dense<[[53.0, -15.0, -57.0, 44.0, 15.0, -14.0, -17.0, -33.0, 42.0, -13.0, -16.0,
             46.0, -35.0, 53.0, -15.0, -57.0, 44.0, 15.0, -14.0, -17.0, -33.0, 42.0, -13.0,
             -16.0, 46.0, -35.0, 53.0, -15.0, -57.0, 44.0, 15.0, -14.0, -17.0, -33.0, 42.0,
             -13.0, -16.0], [-27.0, 16.0, 20.0, 24.0, -37.0, -20.0, 23.0, -25.0, 31.0, 9.0,
             -13.0, 17.0, -18.0, -27.0, 16.0, 20.0, 24.0, -37.0, -20.0, 23.0, -25.0, 31.0,
             9.0, -13.0, 17.0, -18.0, -27.0, 16.0, 20.0, 24.0, -37.0, -20.0, 23.0, -25.0,
             31.0, 9.0, -13.0], [-8.0, -30.0, -13.0, 4.0, 21.0, 51.0, -36.0, -6.0, -2.0,
             -24.0, 45.0, 10.0, -12.0, -8.0, -30.0, -13.0, 4.0, 21.0, 51.0, -36.0, -6.0,
             -2.0, -24.0, 45.0, 10.0, -12.0, -8.0, -30.0, -13.0, 4.0, 21.0, 51.0, -36.0,
             -6.0, -2.0, -24.0, 45.0], [44.0, -10.0, 53.0, -27.0, -42.0, 34.0, -7.0, -9.0,
             -24.0, -13.0, 37.0, -30.0, -6.0, 44.0, -10.0, 53.0, -27.0, -42.0, 34.0, -7.0,
             -9.0, -24.0, -13.0, 37.0, -30.0, -6.0, 44.0, -10.0, 53.0, -27.0, -42.0, 34.0,
             -7.0, -9.0, -24.0, -13.0, 37.0], [-3.0, -34.0, -13.0, 8.0, 16.0, 50.0, -33.0,
             -12.0, 9.0, -35.0, 51.0, 7.0, -11.0, -3.0, -34.0, -13.0, 8.0, 16.0, 50.0,
             -33.0, -12.0, 9.0, -35.0, 51.0, 7.0, -11.0, -3.0, -34.0, -13.0, 8.0, 16.0,
             50.0, -33.0, -12.0, 9.0, -35.0, 51.0]]> : tensor<5x37xf32>},
        tensor<5x37xf32> {graph.name = "odd_weight", graph.expect =
      dense<[[17.0, -12.0, -20.0, 21.0, 6.0, 5.0, -17.0, 17.0, -12.0, -20.0, 21.0, 6.0,
             5.0, -17.0, 17.0, -12.0, -20.0, 21.0, 6.0, 5.0, -17.0, 17.0, -12.0, -20.0,
             21.0, 6.0, 5.0, -17.0, 17.0, -12.0, -20.0, 21.0, 6.0, 5.0, -17.0, 17.0, -12.0],
             [-5.0, -12.0, 2.0, -12.0, -5.0, 16.0, 16.0, -5.0, -12.0, 2.0, -12.0, -5.0,
             16.0, 16.0, -5.0, -12.0, 2.0, -12.0, -5.0, 16.0, 16.0, -5.0, -12.0, 2.0, -12.0,
             -5.0, 16.0, 16.0, -5.0, -12.0, 2.0, -12.0, -5.0, 16.0, 16.0, -5.0, -12.0],
             [-16.0, -12.0, 13.0, 10.0, 28.0, -17.0, -6.0, -16.0, -12.0, 13.0, 10.0, 28.0,
             -17.0, -6.0, -16.0, -12.0, 13.0, 10.0, 28.0, -17.0, -6.0, -16.0, -12.0, 13.0,
             10.0, 28.0, -17.0, -6.0, -16.0, -12.0, 13.0, 10.0, 28.0, -17.0, -6.0, -16.0,
             -12.0], [-5.0, 21.0, -9.0, 10.0, -27.0, 27.0, -17.0, -5.0, 21.0, -9.0, 10.0,
             -27.0, 27.0, -17.0, -5.0, 21.0, -9.0, 10.0, -27.0, 27.0, -17.0, -5.0, 21.0,
             -9.0, 10.0, -27.0, 27.0, -17.0, -5.0, 21.0, -9.0, 10.0, -27.0, 27.0, -17.0,
             -5.0, 21.0], [-16.0, -12.0, 13.0, 10.0, 28.0, -17.0, -6.0, -16.0, -12.0, 13.0,
             10.0, 28.0, -17.0, -6.0, -16.0, -12.0, 13.0, 10.0, 28.0, -17.0, -6.0, -16.0,
             -12.0, 13.0, 10.0, 28.0, -17.0, -6.0, -16.0, -12.0, 13.0, 10.0, 28.0, -17.0,
             -6.0, -16.0, -12.0]]> : tensor<5x37xf32>},
        tensor<5x19xf32> {graph.name = "odd_weight_transposed", graph.expect =
      dense<[[16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0,
             16.0, 16.0, 16.0, 16.0, 16.0, 16.0], [-6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0,
             -6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0, -6.0],
             [-17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0,
             -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0], [16.0, 16.0, 16.0,
             16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0,
             16.0, 16.0, 16.0], [-17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0,
             -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0, -17.0]]> : tensor<5x19xf32>},
        tensor<33x2xf32> {graph.name = "tall_weight", graph.expect =
      dense<[[12.0, -8.0], [6.0, 1.0], [-9.0, 1.0], [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0],
             [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0], [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0],
             [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0], [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0],
             [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0], [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0],
             [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0], [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0],
             [12.0, -8.0], [6.0, 1.0], [-9.0, 1.0]]> : tensor<33x2xf32>},
        tensor<2x3x3x2xf32> {graph.name = "batches", graph.expect =
      dense<[[[[4.0, -31.0], [9.0, 12.0], [14.0, 0.0]], [[-31.0, 18.0], [12.0, -13.0],
             [0.0, 0.0]], [[18.0, 18.0], [-13.0, -17.0], [0.0, 14.0]]], [[[8.0, 10.0],
             [13.0, -2.0], [-26.0, -3.0]], [[10.0, -9.0], [-2.0, 4.0], [-3.0, 6.0]],
             [[-9.0, -21.0], [4.0, 10.0], [6.0, 8.0]]]]> : tensor<2x3x3x2xf32>},
        tensor<2x3x3x2xf32> {graph.name = "batches_transposed", graph.expect =
      dense<[[[[24.0, -25.0], [-5.0, 5.0], [-1.0, 13.0]], [[-25.0, 17.0], [5.0, 1.0],
             [13.0, -15.0]], [[17.0, 3.0], [1.0, -3.0], [-15.0, 13.0]]], [[[-5.0, 5.0],
             [-1.0, 13.0], [-8.0, -1.0]], [[5.0, 1.0], [13.0, -15.0], [-1.0, 13.0]],
             [[1.0, -3.0], [-15.0, 13.0], [13.0, -15.0]]]]> : tensor<2x3x3x2xf32>},
        tensor<3x4x3xf32> {graph.name = "batch_matrix", graph.expect =
      dense<[[[10.0, -3.0, -1.0], [-4.0, 0.0, 4.0], [-4.0, 3.0, -5.0], [-4.0, -1.0, 7.0]],
             [[-4.0, 2.0, -2.0], [10.0, -2.0, -4.0], [-4.0, 1.0, 1.0], [10.0, -3.0, -1.0]],
             [[-4.0, 0.0, 4.0], [-4.0, 3.0, -5.0], [-4.0, -1.0, 7.0], [-4.0, 2.0, -2.0]]]> : tensor<3x4x3xf32>},
        tensor<2x3x3x2xf32> {graph.name = "batch_weight", graph.expect =
      dense<[[[[22.0, -13.0], [-4.0, -5.0], [14.0, 14.0]], [[-13.0, -13.0], [-5.0, 1.0],
             [14.0, -7.0]], [[-13.0, 22.0], [1.0, -7.0], [-7.0, -14.0]]], [[[-1.0, -11.0],
             [17.0, 8.0], [-20.0, 5.0]], [[-11.0, 7.0], [8.0, -1.0], [5.0, 2.0]],
             [[7.0, -10.0], [-1.0, -17.0], [2.0, 20.0]]]]> : tensor<2x3x3x2xf32>},
        tensor<1x1xf32> {graph.name = "inner", graph.expect = dense<[[32.0]]> : tensor<1x1xf32>},
        tensor<3x3xf32> {graph.name = "outer", graph.expect =
      dense<[[4.0, 8.0, 12.0], [5.0, 10.0, 15.0], [6.0, 12.0, 18.0]]> : tensor<3x3xf32>},
        tensor<2x2xf32> {graph.name = "nan", graph.expect =
      dense<[[0x7FC00000, 2.0], [0x7FC00000, 3.0]]> : tensor<2x2xf32>},
        tensor<2x3xf32> {graph.name = "nothing", graph.expect =
      dense<0.0> : tensor<2x3xf32>},
        tensor<1x1xi32> {graph.name = "ints", graph.expect = dense<[[15]]> : tensor<1x1xi32>},
        tensor<1x1xi64> {graph.name = "longs", graph.expect =
      dense<[[17179869183]]> : tensor<1x1xi64>},
        tensor<1x1xi32> {graph.name = "bytes", graph.expect = dense<[[150]]> : tensor<1x1xi32>},
        tensor<1x1xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[15.0]]> : tensor<1x1xf64>},
        tensor<1x1xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[2050.0]]> : tensor<1x1xf16>},
        tensor<1x1xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[258.0]]> : tensor<1x1xbf16>},
        tensor<1x5xf64> {graph.name = "double_weight", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[-2.0, 4.0, 3.0, 2.0, -13.0]]> : tensor<1x5xf64>}) {
  %w = graph.constant dense<[[5.0, 6.0], [7.0, -8.0]]> : tensor<2x2xf32>
  %v = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %r = graph.constant dense<[[-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0,
                             2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0,
                             0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0,
                             -2.0, 1.0, -3.0, 0.0], [3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0,
                             3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0,
                             1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0,
                             -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0], [2.0, -2.0, 1.0,
                             -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0,
                             2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0,
                             0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0,
                             -2.0], [1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0,
                             3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0,
                             1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0,
                             -1.0, 2.0, -2.0, 1.0, -3.0], [0.0, 3.0, -1.0, 2.0, -2.0, 1.0,
                             -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0,
                             2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0,
                             0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0], [-1.0, 2.0,
                             -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0,
                             3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0,
                             1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0,
                             -1.0, 2.0], [-2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0,
                             -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0,
                             2.0, -2.0, 1.0, -3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0, -3.0,
                             0.0, 3.0, -1.0, 2.0, -2.0, 1.0]]> : tensor<7x37xf32>
  %rt = graph.constant dense<[[-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0],
                              [-3.0, 0.0, 3.0, -1.0, 2.0, -2.0, 1.0]]> : tensor<19x7xf32>
  %small = graph.constant dense<[[-2.0, 0.0], [2.0, -1.0], [1.0, -2.0]]> : tensor<3x2xf32>
  %wb = graph.constant dense<[[[-3.0, 0.0], [3.0, -1.0], [2.0, -2.0], [1.0, -3.0]],
                              [[0.0, 3.0], [-1.0, 2.0], [-2.0, 1.0], [-3.0, 0.0]],
                              [[3.0, -1.0], [2.0, -2.0], [1.0, -3.0], [0.0, 3.0]]]> : tensor<3x4x2xf32>
  %dw = graph.constant dense<[[-3.0, 0.0, 3.0, -1.0, 2.0], [-2.0, 1.0, -3.0, 0.0, 3.0],
                              [-1.0, 2.0, -2.0, 1.0, -3.0]]> : tensor<3x5xf64>

  // 1 * 5 + 2 * 7 = 19, ...
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.matmul %a, %b : tensor<2x2xf32>

  // The left side holds its matrix transposed: 1 * 5 + 3 * 7 = 26.
  // CHECK: transposed_a: reference, unfused, fused agree
  %transposed_a = graph.matmul %a, %b {transpose_a} : tensor<2x2xf32>

  // The right side does: 1 * 5 + 2 * 6 = 17.
  // CHECK: transposed_b: reference, unfused, fused agree
  %transposed_b = graph.matmul %a, %b {transpose_b} : tensor<2x2xf32>

  // Both do: 1 * 5 + 3 * 6 = 23.
  // CHECK: transposed_both: reference, unfused, fused agree
  %transposed_both = graph.matmul %a, %b {transpose_a, transpose_b} : tensor<2x2xf32>

  // The right side is known and packed ahead of time.
  // CHECK: weight: reference, unfused, fused agree
  %weight = graph.matmul %a, %w : tensor<2x2xf32>

  // It is, transposed.
  // CHECK: weight_transposed: reference, unfused, fused agree
  %weight_transposed = graph.matmul %a, %w {transpose_b} : tensor<2x2xf32>

  // The left side is known.
  // CHECK: weight_left: reference, unfused, fused agree
  %weight_left = graph.matmul %v, %b : tensor<2x2xf32>

  // Sizes that fill no vector and no tile: 5x7 by 7x37.
  // CHECK: odd: reference, unfused, fused agree
  %odd = graph.matmul %p, %q : (tensor<5x7xf32>, tensor<7x37xf32>) -> tensor<5x37xf32>

  // The same with a weight.
  // CHECK: odd_weight: reference, unfused, fused agree
  %odd_weight = graph.matmul %p, %r : (tensor<5x7xf32>, tensor<7x37xf32>) -> tensor<5x37xf32>

  // And with a transposed one.
  // CHECK: odd_weight_transposed: reference, unfused, fused agree
  %odd_weight_transposed = graph.matmul %p, %rt {transpose_b}
    : (tensor<5x7xf32>, tensor<19x7xf32>) -> tensor<5x19xf32>

  // More rows than one tile has, and an inner size of 3.
  // CHECK: tall_weight: reference, unfused, fused agree
  %tall_weight = graph.matmul %tall, %small : (tensor<33x3xf32>, tensor<3x2xf32>) -> tensor<33x2xf32>

  // Batches broadcast: [2, 1] with [3] gives [2, 3] matrices.
  // CHECK: batches: reference, unfused, fused agree
  %batches = graph.matmul %c, %d : (tensor<2x1x3x4xf32>, tensor<3x4x2xf32>) -> tensor<2x3x3x2xf32>

  // And with the left side transposed.
  // CHECK: batches_transposed: reference, unfused, fused agree
  %batches_transposed = graph.matmul %e, %d {transpose_a}
    : (tensor<2x1x4x3xf32>, tensor<3x4x2xf32>) -> tensor<2x3x3x2xf32>

  // Three matrices by one.
  // CHECK: batch_matrix: reference, unfused, fused agree
  %batch_matrix = graph.matmul %d, %one : (tensor<3x4x2xf32>, tensor<2x3xf32>) -> tensor<3x4x3xf32>

  // A batch of weights.
  // CHECK: batch_weight: reference, unfused, fused agree
  %batch_weight = graph.matmul %c, %wb : (tensor<2x1x3x4xf32>, tensor<3x4x2xf32>) -> tensor<2x3x3x2xf32>

  // A row by a column: one number.
  // CHECK: inner: reference, unfused, fused agree
  %inner = graph.matmul %row, %column : (tensor<1x3xf32>, tensor<3x1xf32>) -> tensor<1x1xf32>

  // A column by a row: all products.
  // CHECK: outer: reference, unfused, fused agree
  %outer = graph.matmul %column, %row : (tensor<3x1xf32>, tensor<1x3xf32>) -> tensor<3x3xf32>

  // Zero times NaN or infinity is NaN.
  // CHECK: nan: reference, unfused, fused agree
  %nan = graph.matmul %g, %n : tensor<2x2xf32>

  // An inner size of 0: sums of nothing are 0.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.matmul %k0, %k1 : (tensor<2x0xf32>, tensor<0x3xf32>) -> tensor<2x3xf32>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.matmul %i, %i2 : (tensor<1x3xi32>, tensor<3x1xi32>) -> tensor<1x1xi32>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.matmul %l, %l2 : (tensor<1x3xi64>, tensor<3x1xi64>) -> tensor<1x1xi64>

  // 8 bits have sums of 32: 50 * 3 = 150.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.matmul %c8, %c82 : (tensor<1x3xi8>, tensor<3x1xi8>) -> tensor<1x1xi32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.matmul %dd, %dd2 : (tensor<1x3xf64>, tensor<3x1xf64>) -> tensor<1x1xf64>

  // f16, summed in f32: 2048 + 1 + 1 = 2050.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.matmul %h, %h2 : (tensor<1x3xf16>, tensor<3x1xf16>) -> tensor<1x1xf16>

  // bf16, summed in f32: 256 + 1 + 1 = 258.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.matmul %k, %k2 : (tensor<1x3xbf16>, tensor<3x1xbf16>) -> tensor<1x1xbf16>

  // Double precision with a weight.
  // CHECK: double_weight: reference, unfused, fused agree
  %double_weight = graph.matmul %dd, %dw : (tensor<1x3xf64>, tensor<3x5xf64>) -> tensor<1x5xf64>

  func.return %by_hand, %transposed_a, %transposed_b, %transposed_both, %weight, %weight_transposed, %weight_left,
    %odd, %odd_weight, %odd_weight_transposed, %tall_weight, %batches, %batches_transposed,
    %batch_matrix, %batch_weight, %inner, %outer, %nan, %nothing, %ints, %longs, %bytes, %double,
    %half, %brain, %double_weight
    : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xf32>,
      tensor<2x2xf32>, tensor<2x2xf32>, tensor<5x37xf32>, tensor<5x37xf32>, tensor<5x19xf32>,
      tensor<33x2xf32>, tensor<2x3x3x2xf32>, tensor<2x3x3x2xf32>, tensor<3x4x3xf32>,
      tensor<2x3x3x2xf32>, tensor<1x1xf32>, tensor<3x3xf32>, tensor<2x2xf32>, tensor<2x3xf32>,
      tensor<1x1xi32>, tensor<1x1xi64>, tensor<1x1xi32>, tensor<1x1xf64>, tensor<1x1xf16>,
      tensor<1x1xbf16>, tensor<1x5xf64>
}
