// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %line: tensor<1x1x4xf32> {graph.name = "line", graph.value =
      dense<[[[10.0, 20.0, 40.0, 80.0]]]> : tensor<1x1x4xf32>},
    %at: tensor<1x6x1xf32> {graph.name = "at", graph.value =
      dense<[[[0.0], [1.5], [-0.25], [3.5], [-1.0], [5.0]]]> : tensor<1x6x1xf32>},
    %half: tensor<1x6x1xf32> {graph.name = "half", graph.value =
      dense<[[[0.5], [1.5], [2.5], [-0.5], [3.5], [-0.75]]]> : tensor<1x6x1xf32>},
    %x: tensor<1x2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[[-5.0, 2.0, -2.0, 5.0], [1.0, -3.0, 4.0, 0.0], [-4.0, 3.0, -1.0, -5.0]], [[2.0,
             -2.0, 5.0, 1.0], [-3.0, 4.0, 0.0, -4.0], [3.0, -1.0, -5.0, 2.0]]]]> :
             tensor<1x2x3x4xf32>},
    %p: tensor<1x2x3x2xf32> {graph.name = "p", graph.value =
      dense<[[[[0.0, 0.0], [3.0, 2.0], [0.5, 1.5]], [[-0.5, 1.0], [3.75, 2.5], [1.0, -1.0]]]]>
             : tensor<1x2x3x2xf32>},
    %v: tensor<2x1x2x2x2xf32> {graph.name = "v", graph.value =
      dense<[[[[[0.0, 5.0], [3.0, 1.0]], [[6.0, 4.0], [2.0, 0.0]]]], [[[[5.0, 3.0], [1.0,
             6.0]], [[4.0, 2.0], [0.0, 5.0]]]]]> : tensor<2x1x2x2x2xf32>},
    %vp: tensor<2x2x3xf32> {graph.name = "vp", graph.value =
      dense<[[[0.5, 0.5, 0.5], [1.0, 0.0, 1.0]], [[0.0, 1.0, 0.25], [-0.5, 0.5, 2.0]]]> :
             tensor<2x2x3xf32>},
    %odd: tensor<1x4x1xf32> {graph.name = "odd", graph.value =
      dense<[[[0x7FC00000], [0x7F800000], [0xFF800000], [1.0e+30]]]> : tensor<1x4x1xf32>},
    %xl: tensor<1x3x4x2xf32> {graph.name = "xl", graph.value =
      dense<[[[[-5.0, 2.0], [2.0, -2.0], [-2.0, 5.0], [5.0, 1.0]], [[1.0, -3.0], [-3.0, 4.0],
             [4.0, 0.0], [0.0, -4.0]], [[-4.0, 3.0], [3.0, -1.0], [-1.0, -5.0], [-5.0,
             2.0]]]]> : tensor<1x3x4x2xf32>},
    %i: tensor<1x1x4xui8> {graph.name = "i", graph.value =
      dense<[[[1, 2, 3, 200]]]> : tensor<1x1x4xui8>},
    %t: tensor<1x1x4xi1> {graph.name = "t", graph.value =
      dense<[[[true, false, true, true]]]> : tensor<1x1x4xi1>},
    %d: tensor<1x1x4xf64> {graph.name = "d", graph.value =
      dense<[[[10.0, 20.0, 40.0, 80.0]]]> : tensor<1x1x4xf64>},
    %ad: tensor<1x6x1xf64> {graph.name = "ad", graph.value =
      dense<[[[0.0], [1.5], [-0.25], [3.5], [-1.0], [5.0]]]> : tensor<1x6x1xf64>},
    %h: tensor<1x1x4xf16> {graph.name = "h", graph.value =
      dense<[[[10.0, 20.0, 40.0, 80.0]]]> : tensor<1x1x4xf16>},
    %ah: tensor<1x6x1xf16> {graph.name = "ah", graph.value =
      dense<[[[0.0], [1.5], [-0.25], [3.5], [-1.0], [5.0]]]> : tensor<1x6x1xf16>})
    -> (tensor<1x1x6xf32> {graph.name = "linear", graph.expect =
      dense<[[[10.0, 30.0, 7.5, 40.0, 0.0, 0.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "border", graph.expect =
      dense<[[[10.0, 30.0, 10.0, 80.0, 10.0, 80.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "mirrored", graph.expect =
      dense<[[[10.0, 30.0, 10.0, 80.0, 10.0, 40.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "mirrored_centres", graph.expect =
      dense<[[[10.0, 30.0, 12.5, 60.0, 20.0, 20.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "nearest", graph.expect =
      dense<[[[10.0, 40.0, 40.0, 10.0, 0.0, 0.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "nearest_border", graph.expect =
      dense<[[[10.0, 40.0, 40.0, 10.0, 80.0, 10.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "nearest_mirrored", graph.expect =
      dense<[[[10.0, 40.0, 40.0, 10.0, 80.0, 10.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "cubic", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[10.0, 27.1875, 6.6796875, 43.75, 0.0, 0.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "cubic_border", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[10.0, 27.1875, 8.9453125, 83.75, 10.0, 80.0]]]> : tensor<1x1x6xf32>},
        tensor<1x1x6xf32> {graph.name = "cubic_mirrored", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[10.0, 27.1875, 8.59375, 87.5, 10.0, 40.0]]]> : tensor<1x1x6xf32>},
        tensor<1x2x2x3xf32> {graph.name = "plane", graph.expect =
      dense<[[[[-5.0, -5.0, -0.75], [0.5, -0.625, 0.0]], [[2.0, 2.0, 0.75], [-1.5, 0.25,
             0.0]]]]> : tensor<1x2x2x3xf32>},
        tensor<1x2x2x3xf32> {graph.name = "plane_border", graph.expect =
      dense<[[[[-5.0, -5.0, -0.75], [1.0, -5.0, 2.0]], [[2.0, 2.0, 0.75], [-3.0, 2.0,
             -2.0]]]]> : tensor<1x2x2x3xf32>},
        tensor<1x2x2x3xf32> {graph.name = "plane_mirrored", graph.expect =
      dense<[[[[-5.0, -5.0, -0.75], [1.0, -5.0, 2.0]], [[2.0, 2.0, 0.75], [-3.0, 2.0,
             -2.0]]]]> : tensor<1x2x2x3xf32>},
        tensor<1x2x2x3xf32> {graph.name = "plane_cubic", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[[-5.0, -5.0, -0.9404297], [1.375, -5.609375, 2.0]], [[2.0, 2.0, 1.2685547],
             [-3.65625, 2.8448486, -2.0]]]]> : tensor<1x2x2x3xf32>},
        tensor<1x2x3x2xf32> {graph.name = "plane_last", graph.expect =
      dense<[[[[-5.0, 2.0], [-5.0, 2.0], [-0.75, 0.75]], [[0.5, -1.5], [-0.625, 0.25], [0.0,
             0.0]]]]> : tensor<1x2x3x2xf32>},
        tensor<1x2x3x2xf32> {graph.name = "plane_last_nearest", graph.expect =
      dense<[[[[-5.0, 2.0], [-5.0, 2.0], [-4.0, 3.0]], [[1.0, -3.0], [-5.0, 2.0], [2.0,
             -2.0]]]]> : tensor<1x2x3x2xf32>},
        tensor<2x1x2xf32> {graph.name = "volume", graph.expect =
      dense<[[[2.625, 4.0]], [[0.75, 0.0]]]> : tensor<2x1x2xf32>},
        tensor<2x1x2xf32> {graph.name = "volume_mirrored", graph.expect =
      dense<[[[2.625, 4.0]], [[0.75, 3.75]]]> : tensor<2x1x2xf32>},
        tensor<1x1x4xf32> {graph.name = "nowhere", graph.expect =
      dense<[[[0.0, 0.0, 0.0, 0.0]]]> : tensor<1x1x4xf32>},
        tensor<1x1x4xf32> {graph.name = "nowhere_border", graph.expect =
      dense<[[[80.0, 80.0, 10.0, 80.0]]]> : tensor<1x1x4xf32>},
        tensor<1x1x6xui8> {graph.name = "bytes", graph.expect =
      dense<[[[1, 3, 3, 1, 200, 1]]]> : tensor<1x1x6xui8>},
        tensor<1x1x6xi1> {graph.name = "truth", graph.expect =
      dense<[[[true, true, true, true, false, false]]]> : tensor<1x1x6xi1>},
        tensor<1x1x6xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[10.0, 27.1875, 8.9453125, 83.75, 10.0, 80.0]]]> : tensor<1x1x6xf64>},
        tensor<1x1x6xf64> {graph.name = "narrow_positions", graph.tolerance = 1.0e-06 : f64, graph.expect =
      dense<[[[10.0, 30.0, 7.5, 40.0, 0.0, 0.0]]]> : tensor<1x1x6xf64>},
        tensor<1x1x6xf16> {graph.name = "halves", graph.tolerance = 1.0e-03 : f64, graph.expect =
      dense<[[[10.0, 30.0, 7.5, 40.0, 0.0, 0.0]]]> : tensor<1x1x6xf16>}) {
  // At 0, halfway between 20 and 40, a quarter in front of 10, half behind 80, and where nothing is.
  // CHECK: linear: reference, unfused, fused agree
  %linear = graph.sample %line, %at
    {mode = "linear", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // The first and the last element go on.
  // CHECK: border: reference, unfused, fused agree
  %border = graph.sample %line, %at
    {mode = "linear", padding = "border", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Mirrored in the outer edges: -1 and 5 are the elements 0 and 2, the edges are half an element away.
  // CHECK: mirrored: reference, unfused, fused agree
  %mirrored = graph.sample %line, %at
    {mode = "linear", padding = "reflection", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Mirrored in the centres of the outermost elements: -1 is 1, 5 is 1, 3.5 is 2.5.
  // CHECK: mirrored_centres: reference, unfused, fused agree
  %mirrored_centres = graph.sample %line, %at
    {mode = "linear", padding = "reflection", corners, layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Halves go to the even neighbour: 0, 2, 2, 0, and 4 is outside; -0.75 is -1.
  // CHECK: nearest: reference, unfused, fused agree
  %nearest = graph.sample %line, %half
    {mode = "nearest", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // The same with the border going on.
  // CHECK: nearest_border: reference, unfused, fused agree
  %nearest_border = graph.sample %line, %half
    {mode = "nearest", padding = "border", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // The same mirrored: 4 is 3.
  // CHECK: nearest_mirrored: reference, unfused, fused agree
  %nearest_mirrored = graph.sample %line, %half
    {mode = "nearest", padding = "reflection", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Four neighbours, of which those outside are zero.
  // CHECK: cubic: reference, unfused, fused agree
  %cubic = graph.sample %line, %at
    {mode = "cubic", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Four neighbours, the border going on.
  // CHECK: cubic_border: reference, unfused, fused agree
  %cubic_border = graph.sample %line, %at
    {mode = "cubic", padding = "border", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Four neighbours, mirrored.
  // CHECK: cubic_mirrored: reference, unfused, fused agree
  %cubic_mirrored = graph.sample %line, %at
    {mode = "cubic", padding = "reflection", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x6x1xf32>) -> tensor<1x1x6xf32>

  // Positions name the column first, then the row, alike for all channels.
  // CHECK: plane: reference, unfused, fused agree
  %plane = graph.sample %x, %p
    {mode = "linear", padding = "zeros", layout = "NCHW"}
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x2x3xf32>

  // In a plane with its border going on.
  // CHECK: plane_border: reference, unfused, fused agree
  %plane_border = graph.sample %x, %p
    {mode = "linear", padding = "border", layout = "NCHW"}
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x2x3xf32>

  // In a plane that is mirrored.
  // CHECK: plane_mirrored: reference, unfused, fused agree
  %plane_mirrored = graph.sample %x, %p
    {mode = "linear", padding = "reflection", layout = "NCHW"}
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x2x3xf32>

  // Sixteen neighbours.
  // CHECK: plane_cubic: reference, unfused, fused agree
  %plane_cubic = graph.sample %x, %p
    {mode = "cubic", padding = "border", layout = "NCHW"}
    : (tensor<1x2x3x4xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x2x3xf32>

  // Channels last.
  // CHECK: plane_last: reference, unfused, fused agree
  %plane_last = graph.sample %xl, %p
    {mode = "linear", padding = "zeros", layout = "NHWC"}
    : (tensor<1x3x4x2xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x3x2xf32>

  // Channels last, the nearest element.
  // CHECK: plane_last_nearest: reference, unfused, fused agree
  %plane_last_nearest = graph.sample %xl, %p
    {mode = "nearest", padding = "reflection", layout = "NHWC"}
    : (tensor<1x3x4x2xf32>, tensor<1x2x3x2xf32>) -> tensor<1x2x3x2xf32>

  // Eight neighbours in each of two samples.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.sample %v, %vp
    {mode = "linear", padding = "zeros", layout = "NCHW"}
    : (tensor<2x1x2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x1x2xf32>

  // In volumes that are mirrored.
  // CHECK: volume_mirrored: reference, unfused, fused agree
  %volume_mirrored = graph.sample %v, %vp
    {mode = "linear", padding = "reflection", corners, layout = "NCHW"}
    : (tensor<2x1x2x2x2xf32>, tensor<2x2x3xf32>) -> tensor<2x1x2xf32>

  // No number and positions far away: zero.
  // CHECK: nowhere: reference, unfused, fused agree
  %nowhere = graph.sample %line, %odd
    {mode = "linear", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x4x1xf32>) -> tensor<1x1x4xf32>

  // No number is far behind the end.
  // CHECK: nowhere_border: reference, unfused, fused agree
  %nowhere_border = graph.sample %line, %odd
    {mode = "linear", padding = "border", layout = "NCHW"}
    : (tensor<1x1x4xf32>, tensor<1x4x1xf32>) -> tensor<1x1x4xf32>

  // Integers are taken as they are.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.sample %i, %half
    {mode = "nearest", padding = "border", layout = "NCHW"}
    : (tensor<1x1x4xui8>, tensor<1x6x1xf32>) -> tensor<1x1x6xui8>

  // So are truth values.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.sample %t, %half
    {mode = "nearest", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xi1>, tensor<1x6x1xf32>) -> tensor<1x1x6xi1>

  // 64-bit floats.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.sample %d, %ad
    {mode = "cubic", padding = "border", layout = "NCHW"}
    : (tensor<1x1x4xf64>, tensor<1x6x1xf64>) -> tensor<1x1x6xf64>

  // Positions of another type than the elements.
  // CHECK: narrow_positions: reference, unfused, fused agree
  %narrow_positions = graph.sample %d, %ah
    {mode = "linear", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xf64>, tensor<1x6x1xf16>) -> tensor<1x1x6xf64>

  // 16-bit floats.
  // CHECK: halves: reference, unfused, fused agree
  %halves = graph.sample %h, %ah
    {mode = "linear", padding = "zeros", layout = "NCHW"}
    : (tensor<1x1x4xf16>, tensor<1x6x1xf16>) -> tensor<1x1x6xf16>

  func.return %linear, %border, %mirrored, %mirrored_centres, %nearest, %nearest_border, %nearest_mirrored, %cubic, %cubic_border, %cubic_mirrored, %plane, %plane_border, %plane_mirrored, %plane_cubic, %plane_last, %plane_last_nearest, %volume, %volume_mirrored, %nowhere, %nowhere_border, %bytes, %truth, %double, %narrow_positions, %halves
    : tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x1x6xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x2x3xf32>, tensor<1x2x3x2xf32>, tensor<1x2x3x2xf32>, tensor<2x1x2xf32>, tensor<2x1x2xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x6xui8>, tensor<1x1x6xi1>, tensor<1x1x6xf64>, tensor<1x1x6xf64>, tensor<1x1x6xf16>
}
