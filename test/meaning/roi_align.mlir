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
    -> (tensor<4x1x1x1xf32> {graph.name = "centres", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[7.5]]], [[[9.75]]], [[[0.0]]], [[[12.5]]]]> : tensor<4x1x1x1xf32>},
        tensor<4x1x1x1xf32> {graph.name = "half_pixel", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[5.0]]], [[[7.25]]], [[[0.0]]], [[[7.5]]]]> : tensor<4x1x1x1xf32>},
        tensor<4x1x2x2xf32> {graph.name = "adaptive", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[1.5625, 3.0], [7.3125, 8.75]]], [[[3.875, 4.625], [9.875, 10.625]]], [[[0.0,
             0.0], [0.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0]]]]> : tensor<4x1x2x2xf32>},
        tensor<4x1x2x2xf32> {graph.name = "adaptive_centres", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[3.75, 5.25], [9.75, 11.25]]], [[[6.375, 7.125], [12.125, 12.875]]], [[[0.0,
             0.0], [0.0, 1.25]]], [[[11.25, 11.75], [13.25, 13.75]]]]> :
             tensor<4x1x2x2xf32>},
        tensor<4x1x2x2xf32> {graph.name = "largest", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[2.5, 3.28125], [7.0, 7.65625]]], [[[3.828125, 3.28125], [7.109375, 5.46875]]],
             [[[0.0, 0.0], [0.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0]]]]> :
             tensor<4x1x2x2xf32>},
        tensor<4x2x1x2xf32> {graph.name = "largest_of_some", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[1.875, 2.25]], [[1.5, 3.75]]], [[[3.5, 1.75]], [[0.875, 1.5]]], [[[0.0,
             1.9999999]], [[0.0, 2.0]]], [[[1.8333335, 0.8333335]], [[1.666667,
             3.666667]]]]> : tensor<4x2x1x2xf32>},
        tensor<4x2x3x2xf32> {graph.name = "scaled", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[-0.03125, -1.46875], [-0.58984375, -0.37304688], [-0.734375, -0.25]],
             [[0.8339844, 0.9433594], [-0.6699219, 1.09375], [-0.828125, 0.859375]]],
             [[[0.84765625, -1.3320312], [-1.0625, -0.75], [0.0, 0.0]], [[-2.0898438,
             0.45703125], [-1.25, 1.8125], [0.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0], [0.0,
             -0.875]], [[0.0, 0.0], [0.0, 0.0], [0.0, 0.75]]], [[[0.0, 0.0], [0.0, 0.0],
             [0.0, 0.0]], [[0.5, 0.5], [0.5, 0.5], [0.5, 0.5]]]]> : tensor<4x2x3x2xf32>},
        tensor<4x3x2x2xf32> {graph.name = "last", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[-0.03125, 0.8339844], [-1.46875, 0.9433594]], [[-0.58984375, -0.6699219],
             [-0.37304688, 1.09375]], [[-0.734375, -0.828125], [-0.25, 0.859375]]],
             [[[0.84765625, -2.0898438], [-1.3320312, 0.45703125]], [[-1.0625, -1.25],
             [-0.75, 1.8125]], [[0.0, 0.0], [0.0, 0.0]]], [[[0.0, 0.0], [0.0, 0.0]],
             [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [-0.875, 0.75]]], [[[0.0, 0.5],
             [0.0, 0.5]], [[0.0, 0.5], [0.0, 0.5]], [[0.0, 0.5], [0.0, 0.5]]]]> :
             tensor<4x3x2x2xf32>},
        tensor<4x2x2x2xf32> {graph.name = "last_largest", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[1.953125, 2.5], [1.953125, 4.375]], [[1.953125, 2.5], [2.625, 1.25]]],
             [[[3.0625, 0.328125], [1.3125, 1.5625]], [[0.4375, 0.875], [1.25, 0.375]]],
             [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 2.0]]], [[[0.0, 0.0], [0.0,
             0.0]], [[0.0, 0.0], [0.0, 0.0]]]]> : tensor<4x2x2x2xf32>},
        tensor<4x2x2x1xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[[-0.041666666666666664], [0.1875]], [[1.1458333333333333],
             [-1.1458333333333333]]], [[[1.3828125], [-2.2578125]], [[-1.42578125],
             [-0.125]]], [[[0.0], [-2.0]], [[0.0], [1.0]]], [[[0.0], [0.0]], [[0.0],
             [0.0]]]]> : tensor<4x2x2x1xf64>},
        tensor<4x2x2x1xf16> {graph.name = "halves", graph.tolerance = 5.0e-03 : f64, graph.expect =
      dense<[[[[-0.04166], [0.1875]], [[1.146], [-1.146]]], [[[1.383], [-2.258]], [[-1.426],
             [-0.125]]], [[[0.0], [-2.0]], [[0.0], [1.0]]], [[[0.0], [0.0]], [[0.0],
             [0.0]]]]> : tensor<4x2x2x1xf16>}) {
  // One point in the middle of each region: of 0 to 3 at 1.5 in both directions it is 7.5.
  // CHECK: centres: reference, unfused, fused agree
  %centres = graph.roi_align %x, %of, %rois
    {shape = array<i64: 1, 1>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 1 : i64, mode
     = "avg"}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x1x1xf32>

  // With half a pixel taken away it is at 1 and 1; a region without an extent is a point.
  // CHECK: half_pixel: reference, unfused, fused agree
  %half_pixel = graph.roi_align %x, %of, %rois
    {shape = array<i64: 1, 1>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 1 : i64, mode
     = "avg", half_pixel}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x1x1xf32>

  // As many points as a bin has elements.
  // CHECK: adaptive: reference, unfused, fused agree
  %adaptive = graph.roi_align %x, %of, %rois
    {shape = array<i64: 2, 2>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 0 : i64, mode
     = "avg", half_pixel}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x2x2xf32>

  // The same from centre to centre.
  // CHECK: adaptive_centres: reference, unfused, fused agree
  %adaptive_centres = graph.roi_align %x, %of, %rois
    {shape = array<i64: 2, 2>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 0 : i64, mode
     = "avg"}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x2x2xf32>

  // The largest of the weighed elements.
  // CHECK: largest: reference, unfused, fused agree
  %largest = graph.roi_align %x, %of, %rois
    {shape = array<i64: 2, 2>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 0 : i64, mode
     = "max", half_pixel}
    : (tensor<1x1x4x4xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x1x2x2xf32>

  // The largest of nine points; those outside are 0.
  // CHECK: largest_of_some: reference, unfused, fused agree
  %largest_of_some = graph.roi_align %two, %both, %rois
    {shape = array<i64: 1, 2>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 3 : i64, mode
     = "max"}
    : (tensor<2x2x3x5xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x2x1x2xf32>

  // Regions in another picture's elements, of which samples are named.
  // CHECK: scaled: reference, unfused, fused agree
  %scaled = graph.roi_align %two, %both, %rois
    {shape = array<i64: 3, 2>, scale = 1.500000e+00 : f64, layout = "NCHW", samples = 2 : i64, mode
     = "avg", half_pixel}
    : (tensor<2x2x3x5xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x2x3x2xf32>

  // The same with the channels last.
  // CHECK: last: reference, unfused, fused agree
  %last = graph.roi_align %xl, %both, %rois
    {shape = array<i64: 3, 2>, scale = 1.500000e+00 : f64, layout = "NHWC", samples = 2 : i64, mode
     = "avg", half_pixel}
    : (tensor<2x3x5x2xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x3x2x2xf32>

  // The largest with the channels last.
  // CHECK: last_largest: reference, unfused, fused agree
  %last_largest = graph.roi_align %xl, %both, %rois
    {shape = array<i64: 2, 2>, scale = 1.000000e+00 : f64, layout = "NHWC", samples = 0 : i64, mode
     = "max", half_pixel}
    : (tensor<2x3x5x2xf32>, tensor<4xi64>, tensor<4x4xf32>) -> tensor<4x2x2x2xf32>

  // 64-bit floats.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.roi_align %d, %both, %dr
    {shape = array<i64: 2, 1>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 0 : i64, mode
     = "avg", half_pixel}
    : (tensor<2x2x3x5xf64>, tensor<4xi64>, tensor<4x4xf64>) -> tensor<4x2x2x1xf64>

  // 16-bit floats.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.roi_align %h, %both, %hr
    {shape = array<i64: 2, 1>, scale = 1.000000e+00 : f64, layout = "NCHW", samples = 0 : i64, mode
     = "avg", half_pixel}
    : (tensor<2x2x3x5xf16>, tensor<4xi64>, tensor<4x4xf16>) -> tensor<4x2x2x1xf16>

  func.return %centres, %half_pixel, %adaptive, %adaptive_centres, %largest, %largest_of_some, %scaled, %last, %last_largest, %double, %halves
    : tensor<4x1x1x1xf32>, tensor<4x1x1x1xf32>, tensor<4x1x2x2xf32>, tensor<4x1x2x2xf32>, tensor<4x1x2x2xf32>, tensor<4x2x1x2xf32>, tensor<4x2x3x2xf32>, tensor<4x3x2x2xf32>, tensor<4x2x2x2xf32>, tensor<4x2x2x1xf64>, tensor<4x2x2x1xf16>
}
