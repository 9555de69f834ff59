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
      dense<[[[[0.7615942]]], [[[0.9640276]]]]> : tensor<2x1x1x1xf32>},
        tensor<1x1x1xf32> {graph.name = "by_hand_h", graph.expect =
      dense<[[[0.9640276]]]> : tensor<1x1x1xf32>},
        tensor<4x1x2x3xf32> {graph.name = "forward_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.24491864, 0.6351489, 0.0], [0.84828365, -0.635149, 0.6351489]]], [[[-0.8227053, 0.73172283,
      -0.438213], [0.8697046, 0.49596167, 0.37523007]]], [[[-0.73394346, -0.91694957, -0.50793827],
      [-0.15062743, 0.27608752, 0.061933756]]], [[[-0.2522096, -0.2890038, -0.312483], [-0.37001628, 0.577302,
      -0.15194327]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "forward_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.2522096, -0.2890038, -0.312483], [-0.37001628, 0.577302, -0.15194327]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "relu_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.0, 2.0, 0.0], [0.0, 0.5, 0.0]]], [[[0.0, 1.5, 0.0], [0.0, 0.75, 0.0]]], [[[0.0, 0.0, 0.0],
      [0.0, 1.125, 0.0]]], [[[0.0, 0.875, 0.0], [0.0, 1.4375, 0.0]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "relu_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.0, 0.875, 0.0], [0.0, 1.4375, 0.0]]]> : tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "sigmoid_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[0.18242551, 0.880797, 0.3208213], [0.5, 0.62245935, 0.5]]], [[[0.07270958, 0.9088951,
      0.1954138], [0.30114645, 0.7434104, 0.34172535]]], [[[0.09733948, 0.5167719, 0.16719943], [0.18816441,
      0.79972696, 0.29590806]]], [[[0.079196535, 0.67743605, 0.15055461], [0.119320326, 0.86081403,
      0.245118]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "sigmoid_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[0.079196535, 0.67743605, 0.15055461], [0.119320326, 0.86081403, 0.245118]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "reverse_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.9777063, 0.8162688, -0.6972519], [-0.2446863, 0.10733533, -0.07423651]]], [[[-0.935586,
      0.976671, -0.488176], [-0.69681036, 0.38989365, -0.2630703]]], [[[-0.9824158, -0.5755708, -0.7573979],
      [-0.9482678, 0.49421668, -0.454956]]], [[[-0.97187275, 0.70390546, -0.90514827], [-0.90514827,
      0.9640275, -0.635149]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "reverse_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.9777063, 0.8162688, -0.6972519], [-0.2446863, 0.10733533, -0.07423651]]]> :
      tensor<1x2x3xf32>},
        tensor<4x1x2x3xf32> {graph.name = "initial_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.9480853, 0.9480852, -0.84828365], [0.70390546, 0.84828365, -0.24491864]]], [[[-0.99394125,
      0.8831146, -0.68465793], [-0.89261526, 0.37322867, -0.10204905]]], [[[-0.983054, -0.5227023,
      -0.8354063], [-0.8032806, 0.84455454, -0.62909937]]], [[[-0.9566561, 0.46978652, -0.75673616],
      [-0.9779017, 0.80260766, -0.59806824]]]]> : tensor<4x1x2x3xf32>},
        tensor<1x2x3xf32> {graph.name = "initial_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.9566561, 0.46978652, -0.75673616], [-0.9779017, 0.80260766, -0.59806824]]]> :
      tensor<1x2x3xf32>},
        tensor<4x2x2x3xf32> {graph.name = "both_ways_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.9480853, 0.9480852, -0.84828365], [0.70390546, 0.84828365, -0.24491864]], [[-0.568805,
      0.55561316, 0.7922261], [-0.59662473, 0.30059433, 0.51014125]]], [[[-0.99394125, 0.8831146,
      -0.68465793], [-0.89261526, 0.37322867, -0.10204905]], [[-0.53068435, 0.8587363, -0.23917538],
      [-0.57410574, 0.51468265, 0.551674]]], [[[-0.983054, -0.5227023, -0.8354063], [-0.8032806, 0.84455454,
      -0.62909937]], [[0.94972587, 0.18679023, 0.88192046], [-0.33085734, 0.7452829, 0.47639418]]],
      [[[-0.9566561, 0.46978652, -0.75673616], [-0.9779017, 0.80260766, -0.59806824]], [[0.87982666,
      -0.41157007, 0.9718728], [0.0, 0.7866188, -0.0624187]]]]> : tensor<4x2x2x3xf32>},
        tensor<2x2x3xf32> {graph.name = "both_ways_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.9566561, 0.46978652, -0.75673616], [-0.9779017, 0.80260766, -0.59806824]], [[-0.568805,
      0.55561316, 0.7922261], [-0.59662473, 0.30059433, 0.51014125]]]> : tensor<2x2x3xf32>},
        tensor<2x1x1x9xf32> {graph.name = "wide_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.94137555, 0.99913895, -0.8093011, -0.98955977, 0.35835743, -0.9640276, 0.9918598,
      -0.9780261, 0.997661]]], [[[-0.96044636, -0.6834281, 0.9999094, -0.99211425, 0.99907184, -0.9975334,
      -0.41165924, -0.98526484, -0.87059164]]]]> : tensor<2x1x1x9xf32>},
        tensor<1x1x9xf32> {graph.name = "wide_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.96044636, -0.6834281, 0.9999094, -0.99211425, 0.99907184, -0.9975334, -0.41165924,
      -0.98526484, -0.87059164]]]> : tensor<1x1x9xf32>},
        tensor<4x1x2x3xf64> {graph.name = "double_y", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[[-0.90514827, 0.9640275, -0.635149], [0.0, 0.4621172, 0.0]]], [[[-0.9928386, 0.91239285,
      -0.7577596], [-0.68928266, 0.64631355, -0.350075]]], [[[-0.9849195, -0.57134414, -0.8203832],
      [-0.9028548, 0.7231835, -0.5163448]]], [[[-0.95272076, 0.49705303, -0.7565537], [-0.9689511, 0.84860575,
      -0.6464937]]]]> : tensor<4x1x2x3xf64>},
        tensor<1x2x3xf64> {graph.name = "double_h", graph.tolerance = 3.0e-6 : f64, graph.expect =
      dense<[[[-0.95272076, 0.49705303, -0.7565537], [-0.9689511, 0.84860575, -0.6464937]]]> :
      tensor<1x2x3xf64>},
        tensor<4x1x2x3xf16> {graph.name = "half_y", graph.tolerance = 1.0e-3 : f64, graph.expect =
      dense<[[[[-0.24491864, 0.6351489, 0.0], [0.84828365, -0.635149, 0.6351489]]], [[[-0.8227053, 0.73172283,
      -0.438213], [0.8697046, 0.49596167, 0.37523007]]], [[[-0.73394346, -0.91694957, -0.50793827],
      [-0.15062743, 0.27608752, 0.061933756]]], [[[-0.2522096, -0.2890038, -0.312483], [-0.37001628, 0.577302,
      -0.15194327]]]]> : tensor<4x1x2x3xf16>},
        tensor<1x2x3xf16> {graph.name = "half_h", graph.tolerance = 1.0e-3 : f64, graph.expect =
      dense<[[[-0.2522096, -0.2890038, -0.312483], [-0.37001628, 0.577302, -0.15194327]]]> :
      tensor<1x2x3xf16>}) {
  %w_hand = graph.constant dense<[[[1.0]]]> : tensor<1x1x1xf32>
  %r_hand = graph.constant dense<[[[0.0]]]> : tensor<1x1x1xf32>
  %w_3_1 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0]]]> : tensor<1x3x2xf32>
  %r_3_1 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75]]]> :
  tensor<1x3x3xf32>
  %b_3_1 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75]]> : tensor<1x6xf32>
  %w_3_2 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0]], [[-1.0, 1.5], [0.5, -0.5], [-1.5,
  1.0]]]> : tensor<2x3x2xf32>
  %r_3_2 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75]], [[0.5, 0.0,
  -0.5], [0.75, 0.25, -0.25], [-0.75, 0.5, 0.0]]]> : tensor<2x3x3xf32>
  %b_3_2 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75], [0.5, -0.5, 0.75, -0.25, 1.0, 0.0]]> :
  tensor<2x6xf32>
  %w_9_1 = graph.constant dense<[[[1.5, 0.5, -0.5, -1.5, 1.0], [0.0, -1.0, 1.5, 0.5, -0.5], [-1.5, 1.0, 0.0,
  -1.0, 1.5], [0.5, -0.5, -1.5, 1.0, 0.0], [-1.0, 1.5, 0.5, -0.5, -1.5], [1.0, 0.0, -1.0, 1.5, 0.5], [-0.5,
  -1.5, 1.0, 0.0, -1.0], [1.5, 0.5, -0.5, -1.5, 1.0], [0.0, -1.0, 1.5, 0.5, -0.5]]]> : tensor<1x9x5xf32>
  %r_9_1 = graph.constant dense<[[[-0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75], [0.5, 0.0, -0.5,
  0.75, 0.25, -0.25, -0.75, 0.5, 0.0], [-0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75], [0.25, -0.25,
  -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25], [-0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5], [0.0,
  -0.5, 0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5], [0.75, 0.25, -0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25],
  [-0.25, -0.75, 0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75], [0.5, 0.0, -0.5, 0.75, 0.25, -0.25, -0.75, 0.5,
  0.0]]]> : tensor<1x9x9xf32>
  %b_9_1 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75, 0.5, -0.5, 0.75, -0.25, 1.0, 0.0, -1.0,
  0.25, -0.75, 0.5, -0.5, 0.75]]> : tensor<1x18xf32>
  %w_3_1_f64 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0]]]> : tensor<1x3x2xf64>
  %r_3_1_f64 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75]]]> :
  tensor<1x3x3xf64>
  %b_3_1_f64 = graph.constant dense<[[-0.25, 1.0, 0.0, -1.0, 0.25, -0.75]]> : tensor<1x6xf64>
  %w_3_1_f16 = graph.constant dense<[[[1.5, 0.5], [-0.5, -1.5], [1.0, 0.0]]]> : tensor<1x3x2xf16>
  %r_3_1_f16 = graph.constant dense<[[[-0.25, -0.75, 0.5], [0.0, -0.5, 0.75], [0.25, -0.25, -0.75]]]> :
  tensor<1x3x3xf16>

  // tanh(1), tanh(2): the state counts for nothing.
  // CHECK: by_hand_y: reference, unfused, fused agree
  // CHECK: by_hand_h: reference, unfused, fused agree
  %by_hand_y, %by_hand_h = graph.rnn %x_hand, %w_hand, %r_hand
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1,
    0, 0, 0>}
    : (tensor<2x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
    -> (tensor<2x1x1x1xf32>, tensor<1x1x1xf32>)

  // Four steps of two sequences.
  // CHECK: forward_y: reference, unfused, fused agree
  // CHECK: forward_h: reference, unfused, fused agree
  %forward_y, %forward_h = graph.rnn %x_3, %w_3_1, %r_3_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1,
    0, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // max(x, 0) in place of tanh.
  // CHECK: relu_y: reference, unfused, fused agree
  // CHECK: relu_h: reference, unfused, fused agree
  %relu_y, %relu_h = graph.rnn %x_3, %w_3_1, %r_3_1, %b_3_1
    {hidden = 3 : i64, direction = "forward", activations = ["relu"], operandSegmentSizes = array<i32: 1, 1, 1,
    1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>, tensor<1x6xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // 1 / (1 + exp(-x)) in place of tanh.
  // CHECK: sigmoid_y: reference, unfused, fused agree
  // CHECK: sigmoid_h: reference, unfused, fused agree
  %sigmoid_y, %sigmoid_h = graph.rnn %x_3, %w_3_1, %r_3_1, %b_3_1
    {hidden = 3 : i64, direction = "forward", activations = ["sigmoid"], operandSegmentSizes = array<i32: 1, 1,
    1, 1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>, tensor<1x6xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // From the last step to the first; the last h is that of step 0.
  // CHECK: reverse_y: reference, unfused, fused agree
  // CHECK: reverse_h: reference, unfused, fused agree
  %reverse_y, %reverse_h = graph.rnn %x_3, %w_3_1, %r_3_1, %b_3_1
    {hidden = 3 : i64, direction = "reverse", operandSegmentSizes = array<i32: 1, 1, 1,
    1, 0, 0>}
    : (tensor<4x2x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>, tensor<1x6xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // From a given state.
  // CHECK: initial_y: reference, unfused, fused agree
  // CHECK: initial_h: reference, unfused, fused agree
  %initial_y, %initial_h = graph.rnn %x_3, %w_3_1, %r_3_1, %b_3_1, %h_3_1
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1,
    1, 1, 0>}
    : (tensor<4x2x2xf32>, tensor<1x3x2xf32>, tensor<1x3x3xf32>, tensor<1x6xf32>, tensor<1x2x3xf32>)
    -> (tensor<4x1x2x3xf32>, tensor<1x2x3xf32>)

  // Both directions, from given states.
  // CHECK: both_ways_y: reference, unfused, fused agree
  // CHECK: both_ways_h: reference, unfused, fused agree
  %both_ways_y, %both_ways_h = graph.rnn %x_3, %w_3_2, %r_3_2, %b_3_2, %h_3_2
    {hidden = 3 : i64, direction = "bidirectional", operandSegmentSizes = array<i32: 1,
    1, 1, 1, 1, 0>}
    : (tensor<4x2x2xf32>, tensor<2x3x2xf32>, tensor<2x3x3xf32>, tensor<2x6xf32>, tensor<2x2x3xf32>)
    -> (tensor<4x2x2x3xf32>, tensor<2x2x3xf32>)

  // Nine units: a vector and a tail.
  // CHECK: wide_y: reference, unfused, fused agree
  // CHECK: wide_h: reference, unfused, fused agree
  %wide_y, %wide_h = graph.rnn %x_9, %w_9_1, %r_9_1, %b_9_1
    {hidden = 9 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1,
    1, 0, 0>}
    : (tensor<2x1x5xf32>, tensor<1x9x5xf32>, tensor<1x9x9xf32>, tensor<1x18xf32>)
    -> (tensor<2x1x1x9xf32>, tensor<1x1x9xf32>)

  // Double precision (expected values in single).
  // CHECK: double_y: reference, unfused, fused agree
  // CHECK: double_h: reference, unfused, fused agree
  %double_y, %double_h = graph.rnn %x_3_f64, %w_3_1_f64, %r_3_1_f64, %b_3_1_f64
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1,
    1, 0, 0>}
    : (tensor<4x2x2xf64>, tensor<1x3x2xf64>, tensor<1x3x3xf64>, tensor<1x6xf64>)
    -> (tensor<4x1x2x3xf64>, tensor<1x2x3xf64>)

  // f16, computed in f32.
  // CHECK: half_y: reference, unfused, fused agree
  // CHECK: half_h: reference, unfused, fused agree
  %half_y, %half_h = graph.rnn %x_3_f16, %w_3_1_f16, %r_3_1_f16
    {hidden = 3 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1,
    0, 0, 0>}
    : (tensor<4x2x2xf16>, tensor<1x3x2xf16>, tensor<1x3x3xf16>)
    -> (tensor<4x1x2x3xf16>, tensor<1x2x3xf16>)

  func.return %by_hand_y, %by_hand_h, %forward_y, %forward_h, %relu_y, %relu_h, %sigmoid_y, %sigmoid_h,
  %reverse_y, %reverse_h, %initial_y, %initial_h, %both_ways_y, %both_ways_h, %wide_y, %wide_h, %double_y,
  %double_h, %half_y, %half_h
    : tensor<2x1x1x1xf32>, tensor<1x1x1xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x1x2x3xf32>,
    tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x1x2x3xf32>, tensor<1x2x3xf32>,
    tensor<4x1x2x3xf32>, tensor<1x2x3xf32>, tensor<4x2x2x3xf32>, tensor<2x2x3xf32>, tensor<2x1x1x9xf32>,
    tensor<1x1x9xf32>, tensor<4x1x2x3xf64>, tensor<1x2x3xf64>, tensor<4x1x2x3xf16>, tensor<1x2x3xf16>
}
