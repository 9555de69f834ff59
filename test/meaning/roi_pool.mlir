// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %xl: tensor<2x3x5x2xf32> {graph.name = "xl", graph.value =
      dense<[[[[-5.0, 1.0], [2.0, -3.0], [-2.0, 4.0], [5.0, 0.0], [1.0, -4.0]], [[-3.0, 3.0],
             [4.0, -1.0], [0.0, -5.0], [-4.0, 2.0], [3.0, -2.0]], [[-1.0, 5.0], [-5.0,
             1.0], [2.0, -3.0], [-2.0, 4.0], [5.0, 0.0]]], [[[-4.0, 2.0], [3.0, -2.0],
             [-1.0, 5.0], [-5.0, 1.0], [2.0, -3.0]], [[-2.0, 4.0], [5.0, 0.0], [1.0,
             -4.0], [-3.0, 3.0], [4.0, -1.0]], [[0.0, -5.0], [-4.0, 2.0], [3.0, -2.0],
             [-1.0, 5.0], [-5.0, 1.0]]]]> : tensor<2x3x5x2xf32>},
    %x: tensor<1x1x4x4xf32> {graph.name = "x", graph.value =
      dense<[[[[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0], [12.0,
             13.0, 14.0, 15.0]]]]> : tensor<1x1x4x4xf32>},
    %two: tensor<2x2x3x5xf32> {graph.name = "two", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0, 1.0], [-3.0, 4.0, 0.0, -4.0, 3.0], [-1.0, -5.0, 2.0,
             -2.0, 5.0]], [[1.0, -3.0, 4.0, 0.0, -4.0], [3.0, -1.0, -5.0, 2.0, -2.0],
             [5.0, 1.0, -3.0, 4.0, 0.0]]], [[[-4.0, 3.0, -1.0, -5.0, 2.0], [-2.0, 5.0,
             1.0, -3.0, 4.0], [0.0, -4.0, 3.0, -1.0, -5.0]], [[2.0, -2.0, 5.0, 1.0,
             -3.0], [4.0, 0.0, -4.0, 3.0, -1.0], [-5.0, 2.0, -2.0, 5.0, 1.0]]]]> :
             tensor<2x2x3x5xf32>},
    %rois: tensor<4x4xf32> {graph.name = "rois", graph.value =
      dense<[[0.0, 0.0, 3.0, 3.0], [1.0, 0.5, 2.5, 3.5], [-3.0, -3.0, 1.0, 1.0], [2.0, 2.0,
             2.0, 2.0]]> : tensor<4x4xf32>},
    %of: tensor<4xi64> {graph.name = "of", graph.value =
      dense<[0, 0, 0, 0]> : tensor<4xi64>},
    %both: tensor<4xi64> {graph.name = "both", graph.value =
      dense<[1, 0, -1, 0]> : tensor<4xi64>},
    %d: tensor<2x2x3x5xf64> {graph.name = "d", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0, 1.0], [-3.0, 4.0, 0.0, -4.0, 3.0], [-1.0, -5.0, 2.0,
             -2.0, 5.0]], [[1.0, -3.0, 4.0, 0.0, -4.0], [3.0, -1.0, -5.0, 2.0, -2.0],
             [5.0, 1.0, -3.0, 4.0, 0.0]]], [[[-4.0, 3.0, -1.0, -5.0, 2.0], [-2.0, 5.0,
             1.0, -3.0, 4.0], [0.0, -4.0, 3.0, -1.0, -5.0]], [[2.0, -2.0, 5.0, 1.0,
             -3.0], [4.0, 0.0, -4.0, 3.0, -1.0], [-5.0, 2.0, -2.0, 5.0, 1.0]]]]> :
             tensor<2x2x3x5xf64>},
    %dr: tensor<4x4xf64> {graph.name = "dr", graph.value =
      dense<[[0.0, 0.0, 3.0, 3.0], [1.0, 0.5, 2.5, 3.5], [-3.0, -3.0, 1.0, 1.0], [2.0, 2.0,
             2.0, 2.0]]> : tensor<4x4xf64>},
    %h: tensor<2x2x3x5xf16> {graph.name = "h", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0, 1.0], [-3.0, 4.0, 0.0, -4.0, 3.0], [-1.0, -5.0, 2.0,
             -2.0, 5.0]], [[1.0, -3.0, 4.0, 0.0, -4.0], [3.0, -1.0, -5.0, 2.0, -2.0],
             [5.0, 1.0, -3.0, 4.0, 0.0]]], [[[-4.0, 3.0, -1.0, -5.0, 2.0], [-2.0, 5.0,
             1.0, -3.0, 4.0], [0.0, -4.0, 3.0, -1.0, -5.0]], [[2.0, -2.0, 5.0, 1.0,
             -3.0], [4.0, 0.0, -4.0, 3.0, -1.0], [-5.0, 2.0, -2.0, 5.0, 1.0]]]]> :
             tensor<2x2x3x5xf16>},
    %hr: tensor<4x4xf16> {graph.name = "hr", graph.value =
      dense<[[0.0, 0.0, 3.0, 3.0], [1.0, 0.5, 2.5, 3.5], [-3.0, -3.0, 1.0, 1.0], [2.0, 2.0,
             2.0, 2.0]]> : tensor<4x4xf16>})
    -> (tensor<4x1x1x1xf32> {graph.name = "whole", graph.expect =
      dense<[[[[15.0]]], [[[15.0]]], [[[5.0]]], [[[10.0]]]]> : tensor<4x1x1x1xf32>},
        tensor<4x1x2x2xf32> {graph.name = "bins", graph.expect =
      dense<[[[[5.0, 7.0], [13.0, 15.0]]], [[[10.0, 11.0], [14.0, 15.0]]], [[[0.0, 0.0], [0.0,
             5.0]]], [[[10.0, 10.0], [10.0, 10.0]]]]> : tensor<4x1x2x2xf32>},
        tensor<4x1x3x5xf32> {graph.name = "overlapping", graph.expect =
      dense<[[[[4.0, 5.0, 6.0, 7.0, 7.0], [8.0, 9.0, 10.0, 11.0, 11.0], [12.0, 13.0, 14.0,
             15.0, 15.0]]], [[[9.0, 10.0, 10.0, 11.0, 11.0], [13.0, 14.0, 14.0, 15.0,
             15.0], [13.0, 14.0, 14.0, 15.0, 15.0]]], [[[0.0, 0.0, 0.0, 0.0, 0.0], [0.0,
             0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 4.0, 5.0]]], [[[10.0, 10.0, 10.0,
             10.0, 10.0], [10.0, 10.0, 10.0, 10.0, 10.0], [10.0, 10.0, 10.0, 10.0,
             10.0]]]]> : tensor<4x1x3x5xf32>},
        tensor<4x2x2x2xf32> {graph.name = "scaled", graph.expect =
      dense<[[[[5.0, 5.0], [5.0, 5.0]], [[4.0, 5.0], [4.0, 2.0]]], [[[4.0, 4.0], [4.0, 4.0]],
             [[-1.0, -1.0], [1.0, 1.0]]], [[[0.0, 0.0], [0.0, 5.0]], [[0.0, 0.0], [0.0,
             4.0]]], [[[4.0, 4.0], [4.0, 4.0]], [[-1.0, -1.0], [-1.0, -1.0]]]]> :
             tensor<4x2x2x2xf32>},
        tensor<4x2x2x2xf32> {graph.name = "last", graph.expect =
      dense<[[[[5.0, 4.0], [5.0, 5.0]], [[5.0, 4.0], [5.0, 2.0]]], [[[4.0, -1.0], [4.0,
             -1.0]], [[4.0, 1.0], [4.0, 1.0]]], [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0],
             [5.0, 4.0]]], [[[4.0, -1.0], [4.0, -1.0]], [[4.0, -1.0], [4.0, -1.0]]]]> :
             tensor<4x2x2x2xf32>},
        tensor<4x2x2x1xf64> {graph.name = "double", graph.expect =
      dense<[[[[5.0], [3.0]], [[5.0], [5.0]]], [[[4.0], [0.0]], [[4.0], [0.0]]], [[[0.0],
             [5.0]], [[0.0], [4.0]]], [[[2.0], [2.0]], [[-3.0], [-3.0]]]]> :
             tensor<4x2x2x1xf64>},
        tensor<4x2x2x1xf16> {graph.name = "halves", graph.expect =
      dense<[[[[5.0], [3.0]], [[5.0], [5.0]]], [[[4.0], [0.0]], [[4.0], [0.0]]], [[[0.0],
             [5.0]], [[0.0], [4.0]]], [[[2.0], [2.0]], [[-3.0], [-3.0]]]]> :
             tensor<4x2x2x1xf16>}) {
  // Both corners belong to a region: the first has all four rows and columns.
  // CHECK: whole: reference, unfused, fused agree
  %whole = graph.roi_pool %x, %of, %rois
    {shape = array<i64: 1, 1>, scale = 1.000000e+00 : f64, layout = "NCHW"}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x1x1xf32>

  // Bins of two by two elements; the third region is outside but for two rows and columns.
  // CHECK: bins: reference, unfused, fused agree
  %bins = graph.roi_pool %x, %of, %rois
    {shape = array<i64: 2, 2>, scale = 1.000000e+00 : f64, layout = "NCHW"}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x2x2xf32>

  // More bins than elements.
  // CHECK: overlapping: reference, unfused, fused agree
  %overlapping = graph.roi_pool %x, %of, %rois
    {shape = array<i64: 3, 5>, scale = 1.000000e+00 : f64, layout = "NCHW"}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x3x5xf32>

  // Halves are rounded away from zero; samples are named.
  // CHECK: scaled: reference, unfused, fused agree
  %scaled = graph.roi_pool %two, %both, %rois
    {shape = array<i64: 2, 2>, scale = 5.000000e-01 : f64, layout = "NCHW"}
    : (tensor<2x2x3x5xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x2x2x2xf32>

  // The same with the channels last.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.roi_pool %xl, %both, %rois
    {shape = array<i64: 2, 2>, scale = 5.000000e-01 : f64, layout = "NHWC"}
    : (tensor<2x3x5x2xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x2x2x2xf32>

  // 64-bit floats.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.roi_pool %d, %both, %dr
    {shape = array<i64: 2, 1>, scale = 1.000000e+00 : f64, layout = "NCHW"}
    : (tensor<2x2x3x5xf64>, tensor<4xi64>, tensor<4x4xf64>) -> tensor<4x2x2x1xf64>

  // 16-bit floats.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.roi_pool %h, %both, %hr
    {shape = array<i64: 2, 1>, scale = 1.000000e+00 : f64, layout = "NCHW"}
    : (tensor<2x2x3x5xf16>, tensor<4xi64>, tensor<4x4xf16>) -> tensor<4x2x2x1xf16>

  func.return %whole, %bins, %overlapping, %scaled, %last, %double, %halves
    : tensor<4x1x1x1xf32>, tensor<4x1x2x2xf32>, tensor<4x1x3x5xf32>, tensor<4x2x2x2xf32>, tensor<4x2x2x2xf32>, tensor<4x2x2x1xf64>, tensor<4x2x2x1xf16>
}
