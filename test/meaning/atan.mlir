// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<19xf32> {graph.name = "x", graph.value =
      dense<[0.0, 1.0, -1.0, 0.1, -0.4, 0.4142, 0.4143, 0.9, -2.0, 2.4142, 2.4143, 5.0, -100.0, 1.0e-20, -0.25, 3.0,
             0.75, -10.0, 0.5]> : tensor<19xf32>},
    %s: tensor<4xf32> {graph.name = "s", graph.value =
      dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000]> : tensor<4xf32>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[1.0, -0.5, 1.0e300]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[1.0, -0.5, 100.0]> : tensor<3xf16>})
    -> (tensor<19xf32> {graph.name = "angle", graph.expect =
      dense<[0.0, 0.7853982, -0.7853982, 0.09966865, -0.3805064, 0.3926875, 0.3927729, 0.7328151, -1.1071488, 1.1780953,
             1.1781099, 1.3734008, -1.5607966, 1.0e-20, -0.24497867, 1.2490458, 0.6435011, -1.4711277, 0.4636476]>
      : tensor<19xf32>},
        tensor<4xf32> {graph.name = "ends", graph.expect =
      dense<[0x3FC90FDB, 0xBFC90FDB, 0x7FC00000, 0x80000000]> : tensor<4xf32>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-14 : f64, graph.expect =
      dense<[0.7853981633974483, -0.4636476090008061, 1.5707963267948966]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.7854, -0.4636, 1.561]> : tensor<3xf16>}) {
  // The tangent of a quarter of pi is 1.
  // CHECK: angle: reference, unfused, fused agree
  %angle = graph.atan %x : tensor<19xf32>

  // Half of pi far out; -0 keeps its sign, NaN stays.
  // CHECK: ends: reference, unfused, fused agree
  %ends = graph.atan %s : tensor<4xf32>

  // In f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.atan %d : tensor<3xf64>

  // In f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.atan %h : tensor<3xf16>

  func.return %angle, %ends, %double, %half : tensor<19xf32>, tensor<4xf32>, tensor<3xf64>, tensor<3xf16>
}
