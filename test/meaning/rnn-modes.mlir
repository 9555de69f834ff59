// RUN: mini-opt %s -t check | filecheck %s

// Weights of 1 without biases: h = f(x + h). Done by hand.

func.func @main(
    %x: tensor<3x2x1xf32> {graph.name = "x", graph.value =
      dense<[[[1.0], [2.0]], [[3.0], [4.0]], [[5.0], [6.0]]]> : tensor<3x2x1xf32>},
    %m: tensor<3x2xi1> {graph.name = "m", graph.value =
      dense<[[true, true], [true, false], [true, false]]> : tensor<3x2xi1>})
    -> (tensor<3x1x2x1xf32> {graph.name = "short_y", graph.expect =
          dense<[[[[1.0], [2.0]]], [[[4.0], [0.0]]], [[[9.0], [0.0]]]]> : tensor<3x1x2x1xf32>},
        tensor<1x2x1xf32> {graph.name = "short_h", graph.expect = dense<[[[9.0], [2.0]]]> : tensor<1x2x1xf32>},
        tensor<3x2x2x1xf32> {graph.name = "both_y", graph.expect =
          dense<[[[[1.0], [2.0]], [[9.0], [2.0]]], [[[4.0], [0.0]], [[8.0], [0.0]]],
                 [[[9.0], [0.0]], [[5.0], [0.0]]]]> : tensor<3x2x2x1xf32>},
        tensor<2x2x1xf32> {graph.name = "both_h", graph.expect =
          dense<[[[9.0], [2.0]], [[9.0], [2.0]]]> : tensor<2x2x1xf32>},
        tensor<3x1x2x1xf32> {graph.name = "clip_y", graph.expect =
          dense<[[[[1.0], [2.0]]], [[[2.5], [2.5]]], [[[2.5], [2.5]]]]> : tensor<3x1x2x1xf32>},
        tensor<1x2x1xf32> {graph.name = "clip_h", graph.expect = dense<2.5> : tensor<1x2x1xf32>},
        tensor<3x1x2x1xf32> {graph.name = "affine_y", graph.expect =
          dense<[[[[3.0], [5.0]]], [[[13.0], [19.0]]], [[[37.0], [51.0]]]]> : tensor<3x1x2x1xf32>},
        tensor<1x2x1xf32> {graph.name = "affine_h", graph.expect = dense<[[[37.0], [51.0]]]> : tensor<1x2x1xf32>}) {
  %w = graph.constant dense<1.0> : tensor<1x1x1xf32>
  %w2 = graph.constant dense<1.0> : tensor<2x1x1xf32>

  // The second sequence has one step: its state stays, and its y is 0.
  // CHECK: short_y: reference, unfused, fused agree
  // CHECK: short_h: reference, unfused, fused agree
  %short_y, %short_h = graph.rnn %x, %w, %w, %m {hidden = 1 : i64, direction = "forward", activations = ["relu"],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}
    : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>, tensor<3x2xi1>)
    -> (tensor<3x1x2x1xf32>, tensor<1x2x1xf32>)

  // Backwards it begins with that step.
  // CHECK: both_y: reference, unfused, fused agree
  // CHECK: both_h: reference, unfused, fused agree
  %both_y, %both_h = graph.rnn %x, %w2, %w2, %m {hidden = 1 : i64, direction = "bidirectional", activations = ["relu"],
    operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1>}
    : (tensor<3x2x1xf32>, tensor<2x1x1xf32>, tensor<2x1x1xf32>, tensor<3x2xi1>)
    -> (tensor<3x2x2x1xf32>, tensor<2x2x1xf32>)

  // At most 2.5 goes into the activation.
  // CHECK: clip_y: reference, unfused, fused agree
  // CHECK: clip_h: reference, unfused, fused agree
  %clip_y, %clip_h = graph.rnn %x, %w, %w {hidden = 1 : i64, direction = "forward", activations = ["relu"],
    clip = 2.5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<3x1x2x1xf32>, tensor<1x2x1xf32>)

  // 2 (x + h) + 1
  // CHECK: affine_y: reference, unfused, fused agree
  // CHECK: affine_h: reference, unfused, fused agree
  %affine_y, %affine_h = graph.rnn %x, %w, %w {hidden = 1 : i64, direction = "forward", activations = ["affine"],
    parameters = array<f64: 2.0, 1.0>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<3x2x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>) -> (tensor<3x1x2x1xf32>, tensor<1x2x1xf32>)

  func.return %short_y, %short_h, %both_y, %both_h, %clip_y, %clip_h, %affine_y, %affine_h
    : tensor<3x1x2x1xf32>, tensor<1x2x1xf32>, tensor<3x2x2x1xf32>, tensor<2x2x1xf32>, tensor<3x1x2x1xf32>,
      tensor<1x2x1xf32>, tensor<3x1x2x1xf32>, tensor<1x2x1xf32>
}
