// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %two: tensor<1x2x2xf32> {graph.name = "two", graph.value =
      dense<[[[-1.0, 1.0], [10.0, 14.0]]]> : tensor<1x2x2xf32>},
    %s: tensor<2xf32> {graph.name = "s", graph.value = dense<[1.0, 2.0]> : tensor<2xf32>},
    %b: tensor<2xf32> {graph.name = "b", graph.value = dense<[0.0, 10.0]> : tensor<2xf32>},
    %x: tensor<2x2x3x3xf32> {graph.name = "x", graph.value =
      dense<[[[[1.0, -2.0, 3.0], [4.0, 5.0, -6.0], [0.5, 8.0, 9.0]], [[-1.0, 2.0, 7.0],
             [2.0, 0.0, 1.0], [6.0, -3.0, 2.0]]], [[[-1.0, 5.0, 15.0], [5.0, 1.0, 3.0],
             [13.0, -5.0, 5.0]], [[3.0, -3.0, 7.0], [9.0, 11.0, -11.0], [2.0, 17.0, 19.0]]]]> : tensor<2x2x3x3xf32>},
    %v: tensor<1x2x3x2x2xf32> {graph.name = "v", graph.value =
      dense<[[[[[1.0, -2.0], [3.0, 0.0]], [[4.0, 5.0], [-6.0, 2.0]], [[0.5, 8.0],
             [9.0, 1.0]]], [[[-1.0, 2.0], [7.0, 3.0]], [[2.0, 0.0], [1.0, -4.0]],
             [[6.0, -3.0], [2.0, 5.0]]]]]> : tensor<1x2x3x2x2xf32>},
    %long: tensor<1x1x37xf32> {graph.name = "long", graph.value =
      dense<[[[100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0, 103.0, 101.0, 104.5, 102.5, 100.5, 104.0, 102.0,
             100.0, 103.5, 101.5, 105.0]]]> : tensor<1x1x37xf32>},
    %s1: tensor<1xf32> {graph.name = "s1", graph.value = dense<[3.0]> : tensor<1xf32>},
    %b1: tensor<1xf32> {graph.name = "b1", graph.value = dense<[-1.0]> : tensor<1xf32>},
    %d: tensor<2x3x4xf64> {graph.name = "d", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf64>},
    %ds: tensor<3xf64> {graph.name = "ds", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>},
    %h: tensor<2x3x4xf16> {graph.name = "h", graph.value =
      dense<[[[1.0, -2.0, 3.0, 0.0], [4.0, 5.0, -6.0, 2.0], [0.5, 8.0, 9.0, 1.0]],
             [[-1.0, 2.0, 7.0, 3.0], [2.0, 0.0, 1.0, -4.0], [6.0, -3.0, 2.0, 5.0]]]> : tensor<2x3x4xf16>},
    %hs: tensor<3xf16> {graph.name = "hs", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf16>})
    -> (tensor<1x2x2xf32> {graph.name = "by_hand", graph.expect =
      dense<[[[-1.0, 1.0], [8.0, 12.0]]]> : tensor<1x2x2xf32>},
        tensor<2x2x3x3xf32> {graph.name = "image", graph.expect =
      dense<[[[[-0.33541012, -1.0062304, 0.11180337], [0.33541012, 0.5590169, -1.9006573],
             [-0.44721347, 1.2298371, 1.4534438]], [[8.131413, 10.149487, 13.512943],
             [10.149487, 8.804105, 9.476796], [12.840252, 6.786031, 10.149487]]],
             [[[-0.93429375, 0.0747435, 1.7564722], [0.0747435, -0.597948, -0.26160225],
             [1.4201264, -1.6069852, 0.0747435]], [[9.32918, 7.987539, 10.223607],
             [10.67082, 11.118034, 6.1986847], [9.105573, 12.459675, 12.906888]]]]> : tensor<2x2x3x3xf32>},
        tensor<2x2x3x3xf32> {graph.name = "constants", graph.expect =
      dense<[[[[-0.1691496, -1.5074488, 0.7230499], [1.1691496, 1.6152494, -3.2918477],
             [-0.3921995, 2.9535487, 3.3996482]], [[3.9290535, 2.9256756, 1.2533793],
             [2.9256756, 3.5945942, 3.260135], [1.5878386, 4.597972, 2.9256756]]],
             [[[-1.365951, 0.6492761, 4.007988], [0.6492761, -0.6942086, -0.022466265],
             [3.3362455, -2.7094357, 0.6492761]], [[3.3352008, 4.0056024, 2.8882663],
             [2.6647992, 2.441332, 4.899471], [3.4469345, 1.7709305, 1.5474634]]]]> : tensor<2x2x3x3xf32>},
        tensor<1x2x3x2x2xf32> {graph.name = "volume", graph.expect =
      dense<[[[[[-0.28493753, -1.044771], [0.22161807, -0.53821534]],
             [[0.47489586, 0.7281737], [-2.057882, -0.031659726]],
             [[-0.41157642, 1.4880071], [1.7412848, -0.28493753]]], [[[8.34532, 10.206835],
             [13.30936, 10.82734]], [[10.206835, 8.965825], [9.58633, 6.483805]],
             [[12.688854, 7.1043105], [10.206835, 12.06835]]]]]> : tensor<1x2x3x2x2xf32>},
        tensor<1x1x37xf32> {graph.name = "tail", graph.tolerance = 1.0e-5 : f64, graph.expect =
      dense<[[[-5.6320734, 0.85282934, -2.8528295, 3.6320734, -0.073585324, -3.779244,
             2.7056587, -1.0, -4.705659, 1.7792441, -1.9264147, -5.6320734, 0.85282934,
             -2.8528295, 3.6320734, -0.073585324, -3.779244, 2.7056587, -1.0, -4.705659,
             1.7792441, -1.9264147, -5.6320734, 0.85282934, -2.8528295, 3.6320734,
             -0.073585324, -3.779244, 2.7056587, -1.0, -4.705659, 1.7792441, -1.9264147,
             -5.6320734, 0.85282934, -2.8528295, 3.6320734]]]> : tensor<1x1x37xf32>},
        tensor<2x3x4xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[[1.2773496714211405, -0.3867483571057031, 2.386748357105703,
             0.7226503285788595], [3.272292509913062, 3.7349443316996305,
             -1.3542257079526188, 2.346988866339926], [-0.1770601448153779,
             5.599412845758037, 6.3696092445011585, 0.20803805455618285]],
             [[-0.3105552846526962, 0.7378889430694607, 2.4852959892730557,
             1.0873703523101796], [3.975754775473392, 2.2195283083859323,
             3.0976415419296623, -1.2929246257889866], [5.999998775510954,
             -1.7142837900886416, 2.571428746355578, 5.1428562682221095]]]> : tensor<2x3x4xf64>},
        tensor<2x3x4xf16> {graph.name = "half", graph.tolerance = 0.002 : f64, graph.expect =
      dense<[[[1.277, -0.3867, 2.387, 0.7227], [3.271, 3.734, -1.3545, 2.348],
             [-0.177, 5.598, 6.37, 0.208]], [[-0.3105, 0.738, 2.484, 1.087],
             [3.977, 2.219, 3.098, -1.293], [6.0, -1.714, 2.572, 5.145]]]> : tensor<2x3x4xf16>}) {
  %cs = graph.constant dense<[2.0, -1.0]> : tensor<2xf32>
  %cb = graph.constant dense<[0.5, 3.0]> : tensor<2xf32>

  // Each channel has its own mean (0, 12) and variance (1, 4); with epsilon 0 the numbers become -1 and 1.
  // CHECK: by_hand: reference, unfused, fused agree
  %by_hand = graph.instance_norm %two, %s, %b {epsilon = 0.0 : f64}
    : (tensor<1x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x2xf32>

  // Two images of two channels of 3x3.
  // CHECK: image: reference, unfused, fused agree
  %image = graph.instance_norm %x, %s, %b {epsilon = 1.0e-5 : f64}
    : (tensor<2x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x3x3xf32>

  // Scale and bias that are known.
  // CHECK: constants: reference, unfused, fused agree
  %constants = graph.instance_norm %x, %cs, %cb {epsilon = 0.1 : f64}
    : (tensor<2x2x3x3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2x3x3xf32>

  // Three spatial dimensions.
  // CHECK: volume: reference, unfused, fused agree
  %volume = graph.instance_norm %v, %s, %b {epsilon = 1.0e-5 : f64}
    : (tensor<1x2x3x2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x3x2x2xf32>

  // A row of 37.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.instance_norm %long, %s1, %b1 {epsilon = 1.0e-5 : f64}
    : (tensor<1x1x37xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x1x37xf32>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.instance_norm %d, %ds, %ds {epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<2x3x4xf64>

  // f16, computed in f32.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.instance_norm %h, %hs, %hs {epsilon = 1.0e-5 : f64}
    : (tensor<2x3x4xf16>, tensor<3xf16>, tensor<3xf16>) -> tensor<2x3x4xf16>

  func.return %by_hand, %image, %constants, %volume, %tail, %double, %half
    : tensor<1x2x2xf32>, tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>, tensor<1x2x3x2x2xf32>,
      tensor<1x1x37xf32>, tensor<2x3x4xf64>, tensor<2x3x4xf16>
}
