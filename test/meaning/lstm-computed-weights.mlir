// RUN: mini-opt %s -t check | filecheck %s

// Weights that are inputs.

func.func @main(
    %x: tensor<2x1x1xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<2x1x1xf32>},
    %w: tensor<1x4x1xf32> {graph.name = "w", graph.value = dense<1.0> : tensor<1x4x1xf32>})
    -> (tensor<1x1x1xf32> {graph.name = "h", graph.expect = dense<0.65053522> : tensor<1x1x1xf32>},
        tensor<1x1x1xf32> {graph.name = "c", graph.expect = dense<1.14444616> : tensor<1x1x1xf32>}) {

  // One weight for both products: c = sigmoid(g) (c + tanh(g)), h = sigmoid(g) tanh(c), with g = 1 + h before.
  // CHECK: h: reference, unfused, fused agree
  // CHECK: c: reference, unfused, fused agree
  %y, %h, %c = graph.lstm %x, %w, %w
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<2x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>)
    -> (tensor<2x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)

  func.return %h, %c : tensor<1x1x1xf32>, tensor<1x1x1xf32>
}
