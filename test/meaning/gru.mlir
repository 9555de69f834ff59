// RUN: mini-opt %s -t check | filecheck %s

// Expected values that aren't done by hand come from ONNX Runtime.

func.func @main(
    %x_hand: tensor<2x1x1xf32> {graph.name = "x_hand", graph.value =
      dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>},
    %x_3: tensor<4x2x2xf32> {graph.name = "x_3", graph.value =
      dense<[[[0.0, -0.5], [0.75, 0.25]], [[-0.25, -0.75], [0.5, 0.0]], [[-0.5, 0.75], [0.25, -0.25]],
      [[-0.75, 0.5], [0.0, -0.5]]]> : tensor<4x2x2xf32>},
    %h_3_1: tensor<1x2x3xf32> {graph.name = "h_3_1", graph.value =
      dense<[[[-0.5, 0.75, 0.25], [-0.25, -0.75, 0.5]]]> : tensor<1x2x3xf32>},
    %h_3_2: tensor<2x2x3xf32> {graph.name = "h_3_2", graph.value =
      dense<[[[-0.5, 0.75, 0.25], [-0.25, -0.75, 0.5]], [[0.0, -0.5, 0.75], [0.25, -0.25, -0.75]]]> :
      tensor<2x2x3xf32>},
    %x_9: tensor<2x1x5xf32> {graph.name = "x_9", graph.value =
      dense<[[[0.0, -0.5, 0.75, 0.25, -0.25]], [[-0.75, 0.5, 0.0, -0.5, 0.75]]]> : tensor<2x1x5xf32>},
    %x_3_f64: tensor<4x2x2xf64> {graph.name = "x_3_f64", graph.value =
      dense<[[[0.0, -0.5], [0.75, 0.25]], [[-0.25, -0.75], [0.5, 0.0]], [[-0.5, 0.75], [0.25, -0.25]],
      [[-0.75, 0.5], [0.0, -0.5]]]> : tensor<4x2x2xf64>},
    %x_3_f16: tensor<4x2x2xf16> {graph.name = "x_3_f16", graph.value =
      dense<[[[0.0, -0.5], [0.75, 0.25]], [[-0.25, -0.75], [0.5, 0.0]], [[-0.5, 0.75], [0.25, -0.25]],
      [[-0.75, 0.5], [0.0, -0.5]]]> : tensor<4x2x2xf16>})
    -> (tensor<2x1x1x1xf32> {graph.name = "by_hand_y", graph.expect =
      dense<[[[[0.3807971]]], [[[0.67241234]]]]> : tensor<2x1x1x1xf32>},
        tensor<1x1x1xf32> {graph.name = "by_hand_h", graph.expect =
      dense<[[[0.67241234]]]> : tensor<1x1x1xf32>},
        tensor<4x1x2x3xf32> {graph.name = "forward_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.2597914, -0.07857512, 0.3175745], [-0.054543413, 0.57613623, -0.20376933]]], [[[0.48450416,
      -0.16986614, 0.6521828], [0.07794842, 0.47661072, -0.29659027]]], [[[-0.12308067, -0.17681718,
      -0.11155173], [0.26326287, 0.19218805, -0.16962501]]], [[[-0.3631968, -0.4820808, -0.29716256],
      [0.40254974, -0.018763155, 0.17241234]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "forward_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.3631968, -0.4820808, -0.29716256], [0.40254974, -0.018763155, 0.17241234]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "linear_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.5256339, -0.0478727, 0.46002883], [0.091267146, 0.08659054, 0.020448433]]], [[[0.7722635,
      -0.07034218, 0.77200496], [0.27523112, 0.05047881, 0.2081904]]], [[[0.17361292, -0.17471509,
      0.46758682], [0.48816833, 0.00020757318, 0.47876063]]], [[[0.14593872, -0.2561617, 0.6644798],
      [0.6728644, -0.032870352, 0.72593355]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "linear_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.14593872, -0.2561617, 0.6644798], [0.6728644, -0.032870352, 0.72593355]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "bias_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.6147574, -0.05097049, 0.48901308], [0.20376933, 0.054543413, 0.20376933]]], [[[0.8579401,
      -0.073574565, 0.79658693], [0.45117548, 0.011765908, 0.4641205]]], [[[0.36688104, -0.18928054,
      0.72124004], [0.66362435, -0.033106018, 0.7026282]]], [[[0.40620118, -0.25949717, 0.8472479],
      [0.8133032, -0.061922908, 0.86562407]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "bias_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.40620118, -0.25949717, 0.8472479], [0.8133032, -0.061922908, 0.86562407]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "reverse_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.80299866, -0.2986176, 0.9375682], [0.6940254, -0.045360032, 0.73715436]]], [[[0.7126216,
      -0.28436315, 0.8688269], [0.73187256, -0.0976371, 0.78189015]]], [[[0.24516472, -0.27106732, 0.6407217],
      [0.7320769, -0.088413216, 0.71192586]]], [[[0.3688558, -0.15695614, 0.54966], [0.6147574, -0.05097049,
      0.48901308]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "reverse_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.80299866, -0.2986176, 0.9375682], [0.6940254, -0.045360032, 0.73715436]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "initial_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.5805715, 0.6306896, 0.69687927], [-0.13942973, -0.5976149, 0.5967878]]], [[[0.90126956,
      0.58181524, 0.897094], [0.064611845, -0.54921705, 0.7347628]]], [[[0.52763975, 0.31039825, 0.68644756],
      [0.3269791, -0.54422414, 0.8563994]]], [[[0.54242426, 0.15748933, 0.8180829], [0.5857062, -0.5491557,
      0.93473417]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "initial_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.54242426, 0.15748933, 0.8180829], [0.5857062, -0.5491557, 0.93473417]]]> : tensor<1x2x3xf32>},
        tensor<4x2x2x3xf32> {graph.name = "both_ways_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.5805715, 0.6306896, 0.69687927], [-0.13942973, -0.5976149, 0.5967878]], [[0.93147844,
      -0.6616923, 0.69199544], [0.57909197, -0.3610711, 0.4831013]]], [[[0.90126956, 0.58181524, 0.897094],
      [0.064611845, -0.54921705, 0.7347628]], [[0.857141, -0.6297412, 0.7539266], [0.69893086, -0.36856604,
      0.3186388]]], [[[0.52763975, 0.31039825, 0.68644756], [0.3269791, -0.54422414, 0.8563994]],
      [[0.40126118, -0.53109074, 0.97021174], [0.7015345, -0.35626155, 0.09181073]]], [[[0.54242426,
      0.15748933, 0.8180829], [0.5857062, -0.5491557, 0.93473417]], [[0.57463795, -0.5187427, 0.9256297],
      [0.56392336, -0.3183449, -0.23638685]]]]> : tensor<4x2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.54242426, 0.15748933, 0.8180829], [0.5857062, -0.5491557, 0.93473417]], [[0.93147844,
      -0.6616923, 0.69199544], [0.57909197, -0.3610711, 0.4831013]]]> : tensor<2x2x3xf32>},
        tensor<4x2x2x3xf32> {graph.name = "both_ways_linear_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.2597914, -0.07857512, 0.3175745], [-0.054543413, 0.57613623, -0.20376933]], [[0.5897336,
      -0.117618494, -0.27181828], [-0.15144236, 0.5542489, -0.29212326]]], [[[0.48952276, -0.16778333,
      0.6508907], [0.040480707, 0.46676445, -0.27841657]], [[0.5412976, -0.54155576, -0.12441024],
      [0.07433357, 0.40465087, -0.32818106]]], [[[-0.13250843, -0.21102157, -0.095521644], [0.20696284,
      0.17986616, -0.13262303]], [[-0.37725198, -0.2239708, 0.80638254], [0.26904437, 0.21855585,
      -0.33747524]]], [[[-0.4029321, -0.48509404, -0.2523259], [0.36565724, -0.02557937, 0.21065584]],
      [[-0.24338871, -0.11586741, 0.58957267], [0.3175745, 0.0, -0.27808318]]]]> : tensor<4x2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_linear_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.4029321, -0.48509404, -0.2523259], [0.36565724, -0.02557937, 0.21065584]], [[0.5897336,
      -0.117618494, -0.27181828], [-0.15144236, 0.5542489, -0.29212326]]]> : tensor<2x2x3xf32>},
        tensor<2x1x1x9xf32> {graph.name = "wide_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.47249275, 0.018403778, 0.71065855, -0.9296538, 0.40034556, -0.87160134, 0.02153248,
      -0.73213464, 0.025198061]]], [[[0.1884748, 0.5602955, 0.6643015, -0.77043915, 0.30955693, 0.71357477,
      -0.3794819, 0.06978944, 0.545454]]]]> : tensor<2x1x1x9xf32>},
        tensor<1x1x9xf32> {graph.name = "wide_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.1884748, 0.5602955, 0.6643015, -0.77043915, 0.30955693, 0.71357477, -0.3794819, 0.06978944,
      0.545454]]]> : tensor<1x1x9xf32>},
        tensor<4x1x2x3xf64> {graph.name = "double_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.6147574, -0.05097049, 0.48901308], [0.20376933, 0.054543413, 0.20376933]]], [[[0.8579401,
      -0.073574565, 0.79658693], [0.45117548, 0.011765908, 0.4641205]]], [[[0.36688104, -0.18928054,
      0.72124004], [0.66362435, -0.033106018, 0.7026282]]], [[[0.40620118, -0.25949717, 0.8472479],
      [0.8133032, -0.061922908, 0.86562407]]]]> : tensor<4x1x2x3xf64>},
        tensor<1x2x3xf64> {graph.name = "double_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.40620118, -0.25949717, 0.8472479], [0.8133032, -0.061922908, 0.86562407]]]> :
      tensor<1x2x3xf64>},
        tensor<4x1x2x3xf16> {graph.name = "half_y", graph.tolerance = 1.0e-3 : f64, graph.expect =
      dense<[[[[0.2597914, -0.07857512, 0.3175745], [-0.054543413, 0.57613623, -0.20376933]]], [[[0.48952276,
      -0.16778333, 0.6508907], [0.040480707, 0.46676445, -0.27841657]]], [[[-0.13250843, -0.21102157,
      -0.095521644], [0.20696284, 0.17986616, -0.13262303]]], [[[-0.4029321, -0.48509404, -0.2523259],
      [0.36565724, -0.02557937, 0.21065584]]]]> : tensor<4x1x2x3xf16>},
        tensor<1x2x3xf16> {graph.name = "half_h", graph.tolerance = 1.0e-3 : f64, graph.expect =
      dense<[[[-0.4029321, -0.48509404, -0.2523259], [0.36565724, -0.02557937, 0.21065584]]]> :
      tensor<1x2x3xf16>}) {
  %w_hand = graph.constant dense<[[[0.0], [0.0], [1.0]]]> : tensor<1x3x1xf32>
  %r_hand = graph.constant dense<[[[0.0], [0.0], [0.0]]]> : tensor<1x3x1xf32>
  %w_3_1 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0], [-1.0, 1.5], [0.5, -0.5], [-1.5, 1.0],
  [0.0, -1.0], [1.5, 0.5], [-0.5, -1.5]]]> : tensor<1x9x2xf32>
  %r_3_1 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75], [0.5, 0.0,
  -0.5], [0.75, 0.25, -0.25], [-0.75, 0.5, 0.0], [-0.5, 0.75, 0.25], [-0.25, -0.75, 0.5], [0.0, -0.5, 0.75]]]>
  : tensor<1x9x3xf32>
  %b_3_1 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75]]> : tensor<1x18xf32>
  %w_3_2 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0], [-1.0, 1.5], [0.5, -0.5], [-1.5, 1.0],
  [0.0, -1.0], [1.5, 0.5], [-0.5, -1.5]], [[1.0, 0.0], [-1.0, 1.5], [0.5, -0.5], [-1.5, 1.0], [0.0, -1.0],
  [1.5, 0.5], [-0.5, -1.5], [1.0, 0.0], [-1.0, 1.5]]]> : tensor<2x9x2xf32>
  %r_3_2 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75], [0.5, 0.0,
  -0.5], [0.75, 0.25, -0.25], [-0.75, 0.5, 0.0], [-0.5, 0.75, 0.25], [-0.25, -0.75, 0.5], [0.0, -0.5, 0.75]],
  [[0.25, -0.25, -0.75], [0.5, 0.0, -0.5], [0.75, 0.25, -0.25], [-0.75, 0.5, 0.0], [-0.5, 0.75, 0.25], [-0.25,
  -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75], [0.5, 0.0, -0.5]]]> : tensor<2x9x3xf32>
  %b_3_2 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75], [-0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75]]> : tensor<2x18xf32>
  %w_9_1 = graph.constant dense<[[[1.5, 0.5, -0.5, -1.5, 1.0], [0.0, -1.0, 1.5, 0.5, -0.5], [-1.5, 1.0, 0.0,
  -1.0, 1.5], [0.5, -0.5, -1.5, 1.0, 0.0], [-1.0, 1.5, 0.5, -0.5, -1.5], [1.0, 0.0, -1.0, 1.5, 0.5], [-0.5,
  -1.5, 1.0, 0.0, -1.0], [1.5, 0.5, -0.5, -1.5, 1.0], [0.0, -1.0, 1.5, 0.5, -0.5], [-1.5, 1.0, 0.0, -1.0,
  1.5], [0.5, -0.5, -1.5, 1.0, 0.0], [-1.0, 1.5, 0.5, -0.5, -1.5], [1.0, 0.0, -1.0, 1.5, 0.5], [-0.5, -1.5,
  1.0, 0.0, -1.0], [1.5, 0.5, -0.5, -1.5, 1.0], [0.0, -1.0, 1.5, 0.5, -0.5], [-1.5, 1.0, 0.0, -1.0, 1.5],
  [0.5, -0.5, -1.5, 1.0, 0.0], [-1.0, 1.5, 0.5, -0.5, -1.5], [1.0, 0.0, -1.0, 1.5, 0.5], [-0.5, -1.5, 1.0,
  0.0, -1.0], [1.5, 0.5, -0.5, -1.5, 1.0], [0.0, -1.0, 1.5, 0.5, -0.5], [-1.5, 1.0, 0.0, -1.0, 1.5], [0.5,
  -0.5, -1.5, 1.0, 0.0], [-1.0, 1.5, 0.5, -0.5, -1.5], [1.0, 0.0, -1.0, 1.5, 0.5]]]> : tensor<1x27x5xf32>
  %r_9_1 = graph.constant dense<[[[-0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75], [0.5, 0.0, -0.5,
  0.75, 0.25, -0.25, -0.75, 0.5, 0.0], [-0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75], [0.25, -0.25,
  -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25], [-0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5], [0.0,
  -0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5], [0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25],
  [-0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75], [0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5,
  0.0], [-0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75], [0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75,
  0.25, -0.25], [-0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5], [0.0, -0.5, 0.75, 0.25, -0.25, -0.75,
  0.5, 0.0, -0.5], [0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25], [-0.25, -0.75, 0.5, 0.0, -0.5,
  0.75, 0.25, -0.25, -0.75], [0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0], [-0.5, 0.75, 0.25, -0.25,
  -0.75, 0.5, 0.0, -0.5, 0.75], [0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25], [-0.75, 0.5, 0.0,
  -0.5, 0.75, 0.25, -0.25, -0.75, 0.5], [0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5], [0.75, 0.25,
  -0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25], [-0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75], [0.5,
  0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0], [-0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75],
  [0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25], [-0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75,
  0.5], [0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5]]]> : tensor<1x27x9xf32>
  %b_9_1 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75]]> : tensor<1x54xf32>
  %w_3_1_f64 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0], [-1.0, 1.5], [0.5, -0.5], [-1.5,
  1.0], [0.0, -1.0], [1.5, 0.5], [-0.5, -1.5]]]> : tensor<1x9x2xf64>
  %r_3_1_f64 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75], [0.5, 0.0,
  -0.5], [0.75, 0.25, -0.25], [-0.75, 0.5, 0.0], [-0.5, 0.75, 0.25], [-0.25, -0.75, 0.5], [0.0, -0.5, 0.75]]]>
  : tensor<1x9x3xf64>
  %b_3_1_f64 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0,
  -1.0, 0.25, -0.75, 0.5, -0.5, 0.75]]> : tensor<1x18xf64>
  %w_3_1_f16 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0], [-1.0, 1.5], [0.5, -0.5], [-1.5,
  1.0], [0.0, -1.0], [1.5, 0.5], [-0.5, -1.5]]]> : tensor<1x9x2xf16>
  %r_3_1_f16 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75], [0.5, 0.0,
  -0.5], [0.75, 0.25, -0.25], [-0.75, 0.5, 0.0], [-0.5, 0.75, 0.25], [-0.25, -0.75, 0.5], [0.0, -0.5, 0.75]]]>
  : tensor<1x9x3xf16>

  // Gates at 1/2: h = tanh(1) / 2, then h / 2 + tanh(2) / 2.
  // CHECK: by_hand_y: reference, unfused, fused agree
  // CHECK: by_hand_h: reference, unfused, fused agree
  %by_hand_y, %by_hand_h = graph.gru %x_hand, %w_hand, %r_hand
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<2x1x1xf32>, tensor<1x3x1xf32>, tensor<1x3x1xf32>)
    -> (tensor<2x1x1x1xf32>, tensor<1x1x1xf32>)

  // Four steps of two sequences; the reset gate is laid on the state.
  // CHECK: forward_y: reference, unfused, fused agree
  // CHECK: forward_h: reference, unfused, fused agree
  %forward_y, %forward_h = graph.gru %x_3, %w_3_1, %r_3_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x9x2xf32>, tensor<1x9x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // The reset gate is laid on the product and its bias.
  // CHECK: linear_y: reference, unfused, fused agree
  // CHECK: linear_h: reference, unfused, fused agree
  %linear_y, %linear_h = graph.gru %x_3, %w_3_1, %r_3_1, %b_3_1
    {hidden = 3 : i64, direction = "forward", linear_before_reset, operandSegmentSizes = array<i32: 1, 1, 1,
    1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x9x2xf32>, tensor<1x9x3xf32>, tensor<1x18xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // With a bias.
  // CHECK: bias_y: reference, unfused, fused agree
  // CHECK: bias_h: reference, unfused, fused agree
  %bias_y, %bias_h = graph.gru %x_3, %w_3_1, %r_3_1, %b_3_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x9x2xf32>, tensor<1x9x3xf32>, tensor<1x18xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // From the last step to the first; the last h is that of step 0.
  // CHECK: reverse_y: reference, unfused, fused agree
  // CHECK: reverse_h: reference, unfused, fused agree
  %reverse_y, %reverse_h = graph.gru %x_3, %w_3_1, %r_3_1, %b_3_1
    {hidden = 3 : i64, direction = "reverse", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x9x2xf32>, tensor<1x9x3xf32>, tensor<1x18xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // From a given state.
  // CHECK: initial_y: reference, unfused, fused agree
  // CHECK: initial_h: reference, unfused, fused agree
  %initial_y, %initial_h = graph.gru %x_3, %w_3_1, %r_3_1, %b_3_1, %h_3_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>}
    : (tensor<4x2x2xf32>, tensor<1x9x2xf32>, tensor<1x9x3xf32>, tensor<1x18xf32>, tensor<1x2x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // Both directions, from given states.
  // CHECK: both_ways_y: reference, unfused, fused agree
  // CHECK: both_ways_h: reference, unfused, fused agree
  %both_ways_y, %both_ways_h = graph.gru %x_3, %w_3_2, %r_3_2, %b_3_2, %h_3_2
    {hidden = 3 : i64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>}
    : (tensor<4x2x2xf32>, tensor<2x9x2xf32>, tensor<2x9x3xf32>, tensor<2x18xf32>, tensor<2x2x3xf32>)
    -> (tensor<4x2x2x3xf32>, tensor<2x2x3xf32>)

  // Both directions; the reset gate is laid on the product.
  // CHECK: both_ways_linear_y: reference, unfused, fused agree
  // CHECK: both_ways_linear_h: reference, unfused, fused agree
  %both_ways_linear_y, %both_ways_linear_h = graph.gru %x_3, %w_3_2, %r_3_2
    {hidden = 3 : i64, direction = "bidirectional", linear_before_reset, operandSegmentSizes = array<i32: 1,
    1, 1, 0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<2x9x2xf32>, tensor<2x9x3xf32>)
    -> (tensor<4x2x2x3xf32>, tensor<2x2x3xf32>)

  // Nine units: gates end within a vector.
  // CHECK: wide_y: reference, unfused, fused agree
  // CHECK: wide_h: reference, unfused, fused agree
  %wide_y, %wide_h = graph.gru %x_9, %w_9_1, %r_9_1, %b_9_1
    {hidden = 9 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
    : (tensor<2x1x5xf32>, tensor<1x27x5xf32>, tensor<1x27x9xf32>, tensor<1x54xf32>)
    -> (tensor<2x1x1x9xf32>, tensor<1x1x9xf32>)

  // Double precision (expected values in single).
  // CHECK: double_y: reference, unfused, fused agree
  // CHECK: double_h: reference, unfused, fused agree
  %double_y, %double_h = graph.gru %x_3_f64, %w_3_1_f64, %r_3_1_f64, %b_3_1_f64
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>}
    : (tensor<4x2x2xf64>, tensor<1x9x2xf64>, tensor<1x9x3xf64>, tensor<1x18xf64>)
    -> (tensor<4x1x2x3xf64>, tensor<1x2x3xf64>)

  // f16, computed in f32.
  // CHECK: half_y: reference, unfused, fused agree
  // CHECK: half_h: reference, unfused, fused agree
  %half_y, %half_h = graph.gru %x_3_f16, %w_3_1_f16, %r_3_1_f16
    {hidden = 3 : i64, direction = "forward", linear_before_reset, operandSegmentSizes = array<i32: 1, 1, 1,
    0, 0, 0>}
    : (tensor<4x2x2xf16>, tensor<1x9x2xf16>, tensor<1x9x3xf16>)
    -> (tensor<4x1x2x3xf16>, tensor<1x2x3xf16>)

  func.return %by_hand_y, %by_hand_h, %forward_y, %forward_h, %linear_y, %linear_h, %bias_y, %bias_h,
  %reverse_y, %reverse_h, %initial_y, %initial_h, %both_ways_y, %both_ways_h, %both_ways_linear_y,
  %both_ways_linear_h, %wide_y, %wide_h, %double_y, %double_h, %half_y, %half_h
    : tensor<2x1x1x1xf32>, tensor<1x1x1xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x1x2x3xf32>,
    tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>,
    tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x2x2x3xf32>, tensor<2x2x3xf32>, tensor<4x2x2x3xf32>,
    tensor<2x2x3xf32>, tensor<2x1x1x9xf32>, tensor<1x1x9xf32>, tensor<4x1x2x3xf64>, tensor<1x2x3xf64>,
    tensor<4x1x2x3xf16>, tensor<1x2x3xf16>
}
