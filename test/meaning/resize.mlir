// RUN: mini-opt %s -t check | filecheck %s

// Expected values that aren't done by hand come from ONNX's own reference implementation.

func.func @main(
    %l: tensor<3xf32> {graph.name = "l", graph.value = dense<[1.0, 2.0, 4.0]> : tensor<3xf32>},
    %x: tensor<2x2xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>},
    %im: tensor<1x1x3x4xf32> {graph.name = "im", graph.value =
      dense<[[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]]]]> : tensor<1x1x3x4xf32>},
    %five: tensor<5xf32> {graph.name = "five", graph.value =
      dense<[0.0, 1.0, 2.0, 3.0, 4.0]> : tensor<5xf32>},
    %wide: tensor<19xf32> {graph.name = "wide", graph.value =
      dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0,
             14.0, 15.0, 16.0, 17.0, 18.0]> : tensor<19xf32>},
    %chan: tensor<2x2x2xf32> {graph.name = "chan", graph.value =
      dense<[[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0]]]> : tensor<2x2x2xf32>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[0, 10, 5]> : tensor<3xi32>},
    %u: tensor<4xui8> {graph.name = "u", graph.value = dense<[0, 255, 0, 0]> : tensor<4xui8>},
    %t: tensor<2xi1> {graph.name = "t", graph.value = dense<[true, false]> : tensor<2xi1>},
    %b8: tensor<2xi8> {graph.name = "b8", graph.value = dense<[-5, 100]> : tensor<2xi8>},
    %w: tensor<2xi64> {graph.name = "w", graph.value = dense<[-5, 1099511627776]> : tensor<2xi64>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[1.0, 2.0, 4.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[1.0, 2.0, 4.0]> : tensor<3xf16>},
    %k: tensor<3xbf16> {graph.name = "k", graph.value = dense<[1.0, 2.0, 4.0]> : tensor<3xbf16>})
    -> (tensor<6xf32> {graph.name = "twice", graph.expect =
      dense<[1.0, 1.0, 2.0, 2.0, 4.0, 4.0]> : tensor<6xf32>},
        tensor<4x6xf32> {graph.name = "matrix", graph.expect =
      dense<[[1.0, 1.0, 1.0, 2.0, 2.0, 2.0], [1.0, 1.0, 1.0, 2.0, 2.0, 2.0],
             [3.0, 3.0, 3.0, 4.0, 4.0, 4.0], [3.0, 3.0, 3.0, 4.0, 4.0, 4.0]]> : tensor<4x6xf32>},
        tensor<1x1x3x2xf32> {graph.name = "half", graph.expect =
      dense<[[[[1.0, 3.0], [5.0, 7.0], [9.0, 11.0]]]]> : tensor<1x1x3x2xf32>},
        tensor<5xf32> {graph.name = "round_prefer_ceil", graph.expect =
      dense<[1.0, 2.0, 2.0, 4.0, 4.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "floor", graph.expect =
      dense<[1.0, 1.0, 2.0, 2.0, 4.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "ceil", graph.expect =
      dense<[1.0, 2.0, 4.0, 4.0, 4.0]> : tensor<5xf32>},
        tensor<5xf32> {graph.name = "align", graph.expect =
      dense<[1.0, 1.0, 2.0, 2.0, 4.0]> : tensor<5xf32>},
        tensor<6xf32> {graph.name = "linear", graph.expect =
      dense<[1.0, 1.25, 1.75, 2.5, 3.5, 4.0]> : tensor<6xf32>},
        tensor<5xf32> {graph.name = "linear_align", graph.expect =
      dense<[1.0, 1.5, 2.0, 3.0, 4.0]> : tensor<5xf32>},
        tensor<6xf32> {graph.name = "linear_asymmetric", graph.expect =
      dense<[1.0, 1.5, 2.0, 3.0, 4.0, 4.0]> : tensor<6xf32>},
        tensor<1x1x5x7xf32> {graph.name = "bilinear", graph.expect =
      dense<[[[[1.0, 1.3571428, 1.9285715, 2.5, 3.0714285, 3.642857, 4.0],
             [2.6, 2.9571428, 3.5285714, 4.1, 4.6714287, 5.242857, 5.6],
             [5.0, 5.357143, 5.928571, 6.5, 7.071429, 7.642857, 8.0],
             [7.4, 7.757143, 8.328571, 8.9, 9.471429, 10.042857, 10.4],
             [9.0, 9.357142, 9.928572, 10.5, 11.071428, 11.642858, 12.0]]]]> : tensor<1x1x5x7xf32>},
        tensor<1x1x2x2xf32> {graph.name = "smaller", graph.expect =
      dense<[[[[2.5, 4.5], [8.5, 10.5]]]]> : tensor<1x1x2x2xf32>},
        tensor<1x1x2x2xf32> {graph.name = "antialiased", graph.expect =
      dense<[[[[2.9583333, 4.7083335], [8.291667, 10.041667]]]]> : tensor<1x1x2x2xf32>},
        tensor<1xf32> {graph.name = "to_one", graph.expect = dense<[2.0]> : tensor<1xf32>},
        tensor<1xf32> {graph.name = "to_one_torch", graph.expect = dense<[1.0]> : tensor<1xf32>},
        tensor<6xf32> {graph.name = "symmetric", graph.expect =
      dense<[1.0, 1.3181819, 1.7727273, 2.4545455, 3.3636363, 4.0]> : tensor<6xf32>},
        tensor<6xf32> {graph.name = "inexact", graph.expect =
      dense<[1.0, 1.1818181, 1.6363636, 2.181818, 3.090909, 4.0]> : tensor<6xf32>},
        tensor<1x1x5x6xf32> {graph.name = "cubic", graph.expect =
      dense<[[[[0.5291952, 1.0222507, 1.8289655, 2.4030385, 3.2097514, 3.7028086],
             [2.177193, 2.6702473, 3.4769623, 4.051035, 4.8577466, 5.3508043],
             [4.9131966, 5.40625, 6.2129664, 6.787039, 7.59375, 8.086809],
             [7.649197, 8.142249, 8.948967, 9.523039, 10.329749, 10.822808],
             [9.297201, 9.790254, 10.5969715, 11.171044, 11.977754, 12.470815]]]]> : tensor<1x1x5x6xf32>},
        tensor<1x1x5x6xf32> {graph.name = "cubic_a", graph.expect =
      dense<[[[[0.6323233, 1.1098772, 1.8647786, 2.5314465, 3.2863479, 3.7639017],
             [2.1580906, 2.6356447, 3.390546, 4.057214, 4.812115, 5.289669],
             [4.934211, 5.4117646, 6.166666, 6.833334, 7.5882354, 8.065789],
             [7.710331, 8.187884, 8.942786, 9.609454, 10.364355, 10.841909],
             [9.236098, 9.713653, 10.468554, 11.1352215, 11.890122, 12.367677]]]]> : tensor<1x1x5x6xf32>},
        tensor<1x1x2x2xf32> {graph.name = "cubic_antialiased", graph.expect =
      dense<[[[[2.5180151, 4.537546], [8.462453, 10.481984]]]]> : tensor<1x1x2x2xf32>},
        tensor<3xf32> {graph.name = "crop", graph.expect = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>},
        tensor<3xf32> {graph.name = "crop_outside", graph.expect =
      dense<[2.0, 4.0, -7.0]> : tensor<3xf32>},
        tensor<38xf32> {graph.name = "tail", graph.expect =
      dense<[0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0, 5.0, 5.0, 6.0, 6.0, 7.0,
             7.0, 8.0, 8.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 12.0, 12.0, 13.0, 13.0, 14.0,
             14.0, 15.0, 15.0, 16.0, 16.0, 17.0, 17.0, 18.0, 18.0]> : tensor<38xf32>},
        tensor<4x4x2xf32> {graph.name = "channels_last", graph.expect =
      dense<[[[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [3.0, 4.0]], [[1.0, 2.0], [1.0, 2.0],
             [3.0, 4.0], [3.0, 4.0]], [[5.0, 6.0], [5.0, 6.0], [7.0, 8.0], [7.0, 8.0]],
             [[5.0, 6.0], [5.0, 6.0], [7.0, 8.0], [7.0, 8.0]]]> : tensor<4x4x2xf32>},
        tensor<6xi32> {graph.name = "ints", graph.expect =
      dense<[0, 2, 8, 9, 6, 5]> : tensor<6xi32>},
        tensor<8xui8> {graph.name = "unsigned", graph.expect =
      dense<[0, 67, 224, 224, 67, 0, 0, 0]> : tensor<8xui8>},
        tensor<4xi1> {graph.name = "truth", graph.expect =
      dense<[true, true, false, false]> : tensor<4xi1>},
        tensor<4xi8> {graph.name = "bytes", graph.expect = dense<[-5, -5, 100, 100]> : tensor<4xi8>},
        tensor<4xi64> {graph.name = "longs", graph.expect =
      dense<[-5, -5, 1099511627776, 1099511627776]> : tensor<4xi64>},
        tensor<6xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[1.0, 1.25, 1.75, 2.5, 3.5, 4.0]> : tensor<6xf64>},
        tensor<6xf16> {graph.name = "halves", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.0, 1.25, 1.75, 2.5, 3.5, 4.0]> : tensor<6xf16>},
        tensor<6xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[1.0, 1.25, 1.75, 2.5, 3.5, 4.0]> : tensor<6xbf16>}) {
  // Each element twice.
  // CHECK: twice: reference, unfused, fused agree
  %twice = graph.resize %l
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "nearest", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<6xf32>

  // Each element as a block of 2x3.
  // CHECK: matrix: reference, unfused, fused agree
  %matrix = graph.resize %x
    {shape = array<i64: 4, 6>, scales = array<f64: 2.0, 3.0>, mode = "nearest", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<2x2xf32>) -> tensor<4x6xf32>

  // Half as wide: positions 1/2 and 5/2 are between two, and the lower one is preferred.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.resize %im
    {shape = array<i64: 1, 1, 3, 2>, scales = array<f64: 1.0, 1.0, 1.0, 0.5>, mode = "nearest",
     coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x3x2xf32>

  // Round prefer ceil, positions counted from the left edge.
  // CHECK: round_prefer_ceil: reference, unfused, fused agree
  %round_prefer_ceil = graph.resize %l
    {shape = array<i64: 5>, scales = array<f64: 1.6666666666666667>, mode = "nearest",
     coordinate = "asymmetric", nearest = "round_prefer_ceil", cubic_a = -0.75 : f64}
    : (tensor<3xf32>) -> tensor<5xf32>

  // Floor, positions counted from the left edge.
  // CHECK: floor: reference, unfused, fused agree
  %floor = graph.resize %l
    {shape = array<i64: 5>, scales = array<f64: 1.6666666666666667>, mode = "nearest",
     coordinate = "asymmetric", nearest = "floor", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<5xf32>

  // Ceil, positions counted from the left edge.
  // CHECK: ceil: reference, unfused, fused agree
  %ceil = graph.resize %l
    {shape = array<i64: 5>, scales = array<f64: 1.6666666666666667>, mode = "nearest",
     coordinate = "asymmetric", nearest = "ceil", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<5xf32>

  // Ends on ends, 0, 1/2, 1, 3/2, 2: nearest, halves down.
  // CHECK: align: reference, unfused, fused agree
  %align = graph.resize %l
    {shape = array<i64: 5>, scales = array<f64: 1.6666666666666667>, mode = "nearest",
     coordinate = "align_corners", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<3xf32>) -> tensor<5xf32>

  // Linear: 3/4 and 1/4 of the neighbours; outside it is the edge.
  // CHECK: linear: reference, unfused, fused agree
  %linear = graph.resize %l
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "linear", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<6xf32>

  // Linear, ends on ends: the middles are halfway.
  // CHECK: linear_align: reference, unfused, fused agree
  %linear_align = graph.resize %l
    {shape = array<i64: 5>, scales = array<f64: 1.6666666666666667>, mode = "linear",
     coordinate = "align_corners", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<3xf32>) -> tensor<5xf32>

  // Linear, counted from the left edge.
  // CHECK: linear_asymmetric: reference, unfused, fused agree
  %linear_asymmetric = graph.resize %l
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "linear", coordinate = "asymmetric",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<6xf32>

  // Linear along two axes.
  // CHECK: bilinear: reference, unfused, fused agree
  %bilinear = graph.resize %im
    {shape = array<i64: 1, 1, 5, 7>, scales = array<f64: 1.0, 1.0, 1.6666666666666667, 1.75>,
     mode = "linear", coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x5x7xf32>

  // Linear, to a smaller image: two neighbours each, whatever lies between.
  // CHECK: smaller: reference, unfused, fused agree
  %smaller = graph.resize %im
    {shape = array<i64: 1, 1, 2, 2>, scales = array<f64: 1.0, 1.0, 0.6666666666666666, 0.5>,
     mode = "linear", coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x2x2xf32>

  // With antialias all that lies between counts.
  // CHECK: antialiased: reference, unfused, fused agree
  %antialiased = graph.resize %im
    {shape = array<i64: 1, 1, 2, 2>, scales = array<f64: 1.0, 1.0, 0.6666666666666666, 0.5>,
     mode = "linear", coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64,
     antialias} : (tensor<1x1x3x4xf32>) -> tensor<1x1x2x2xf32>

  // To one element: the middle.
  // CHECK: to_one: reference, unfused, fused agree
  %to_one = graph.resize %l
    {shape = array<i64: 1>, scales = array<f64: 0.3333333333333333>, mode = "linear",
     coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<3xf32>) -> tensor<1xf32>

  // Where PyTorch takes the first element instead.
  // CHECK: to_one_torch: reference, unfused, fused agree
  %to_one_torch = graph.resize %l
    {shape = array<i64: 1>, scales = array<f64: 0.3333333333333333>, mode = "linear",
     coordinate = "pytorch_half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<3xf32>) -> tensor<1xf32>

  // A scale that the size doesn't reach: 2.2 * 3 is 6.6, but there are 6.
  // CHECK: symmetric: reference, unfused, fused agree
  %symmetric = graph.resize %l
    {shape = array<i64: 6>, scales = array<f64: 2.2>, mode = "linear", coordinate = "half_pixel_symmetric",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<6xf32>

  // Where the plain rule starts from the left.
  // CHECK: inexact: reference, unfused, fused agree
  %inexact = graph.resize %l
    {shape = array<i64: 6>, scales = array<f64: 2.2>, mode = "linear", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf32>) -> tensor<6xf32>

  // Cubic: four neighbours; at the edges it overshoots.
  // CHECK: cubic: reference, unfused, fused agree
  %cubic = graph.resize %im
    {shape = array<i64: 1, 1, 5, 6>, scales = array<f64: 1.0, 1.0, 1.6666666666666667, 1.5>, mode = "cubic",
     coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x5x6xf32>

  // Cubic with another parameter; what is outside doesn't count.
  // CHECK: cubic_a: reference, unfused, fused agree
  %cubic_a = graph.resize %im
    {shape = array<i64: 1, 1, 5, 6>, scales = array<f64: 1.0, 1.0, 1.6666666666666667, 1.5>, mode = "cubic",
     coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.5 : f64, exclude_outside}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x5x6xf32>

  // Cubic, antialiased.
  // CHECK: cubic_antialiased: reference, unfused, fused agree
  %cubic_antialiased = graph.resize %im
    {shape = array<i64: 1, 1, 2, 2>, scales = array<f64: 1.0, 1.0, 0.6666666666666666, 0.5>, mode = "cubic",
     coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64, antialias}
    : (tensor<1x1x3x4xf32>) -> tensor<1x1x2x2xf32>

  // A region from 1/4 to 3/4 of the length of 5 numbers: positions 1, 2, 3.
  // CHECK: crop: reference, unfused, fused agree
  %crop = graph.resize %five
    {shape = array<i64: 3>, scales = array<f64: 0.6>, mode = "linear", coordinate = "tf_crop_and_resize",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64, roi = array<f64: 0.25, 0.75>}
    : (tensor<5xf32>) -> tensor<3xf32>

  // A region that reaches beyond: positions 2, 4, 6 and the number for outside.
  // CHECK: crop_outside: reference, unfused, fused agree
  %crop_outside = graph.resize %five
    {shape = array<i64: 3>, scales = array<f64: 0.6>, mode = "linear", coordinate = "tf_crop_and_resize",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64, roi = array<f64: 0.5, 1.5>,
     extrapolation = -7.0 : f64} : (tensor<5xf32>) -> tensor<3xf32>

  // 19 elements to 38: vectors and a tail.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.resize %wide
    {shape = array<i64: 38>, scales = array<f64: 2.0>, mode = "nearest", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<19xf32>) -> tensor<38xf32>

  // Rows and columns of an image whose channels come last.
  // CHECK: channels_last: reference, unfused, fused agree
  %channels_last = graph.resize %chan
    {shape = array<i64: 4, 4, 2>, scales = array<f64: 2.0, 2.0, 1.0>, mode = "nearest",
     coordinate = "half_pixel", nearest = "round_prefer_floor", cubic_a = -0.75 : f64}
    : (tensor<2x2x2xf32>) -> tensor<4x4x2xf32>

  // Integers, linear: rounded to the nearest, halves to even.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.resize %i
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "linear", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xi32>) -> tensor<6xi32>

  // Unsigned bytes, cubic: what overshoots is cut off at 0 and 255.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.resize %u
    {shape = array<i64: 8>, scales = array<f64: 2.0>, mode = "cubic", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<4xui8>) -> tensor<8xui8>

  // Truth values, nearest.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.resize %t
    {shape = array<i64: 4>, scales = array<f64: 2.0>, mode = "nearest", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<2xi1>) -> tensor<4xi1>

  // 8 bits, nearest.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.resize %b8
    {shape = array<i64: 4>, scales = array<f64: 2.0>, mode = "nearest", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<2xi8>) -> tensor<4xi8>

  // 64 bits, nearest.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.resize %w
    {shape = array<i64: 4>, scales = array<f64: 2.0>, mode = "nearest", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<2xi64>) -> tensor<4xi64>

  // Linear, of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.resize %d
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "linear", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf64>) -> tensor<6xf64>

  // Linear, of type f16.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.resize %h
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "linear", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xf16>) -> tensor<6xf16>

  // Linear, of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.resize %k
    {shape = array<i64: 6>, scales = array<f64: 2.0>, mode = "linear", coordinate = "half_pixel",
     nearest = "round_prefer_floor", cubic_a = -0.75 : f64} : (tensor<3xbf16>) -> tensor<6xbf16>

  func.return %twice, %matrix, %half, %round_prefer_ceil, %floor, %ceil, %align, %linear, %linear_align,
    %linear_asymmetric, %bilinear, %smaller, %antialiased, %to_one, %to_one_torch, %symmetric,
    %inexact, %cubic, %cubic_a, %cubic_antialiased, %crop, %crop_outside, %tail, %channels_last,
    %ints, %unsigned, %truth, %bytes, %longs, %double, %halves, %brain
    : tensor<6xf32>, tensor<4x6xf32>, tensor<1x1x3x2xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>,
      tensor<5xf32>, tensor<6xf32>, tensor<5xf32>, tensor<6xf32>, tensor<1x1x5x7xf32>,
      tensor<1x1x2x2xf32>, tensor<1x1x2x2xf32>, tensor<1xf32>, tensor<1xf32>, tensor<6xf32>,
      tensor<6xf32>, tensor<1x1x5x6xf32>, tensor<1x1x5x6xf32>, tensor<1x1x2x2xf32>, tensor<3xf32>,
      tensor<3xf32>, tensor<38xf32>, tensor<4x4x2xf32>, tensor<6xi32>, tensor<8xui8>, tensor<4xi1>,
      tensor<4xi8>, tensor<4xi64>, tensor<6xf64>, tensor<6xf16>, tensor<6xbf16>
}
