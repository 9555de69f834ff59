// RUN: mini-opt %s -t check | filecheck %s

// Weights that are inputs, one of them for both products: h = sigmoid(g) tanh(c), c = sigmoid(g) (c + tanh(g)), g = 1 + h.

// CHECK: h: reference, unfused, fused agree
// CHECK: c: reference, unfused, fused agree
func.func @main(
    %x: tensor<2x1x1xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<2x1x1xf32>},
    %w: tensor<1x4x1xf32> {graph.name = "w", graph.value = dense<1.0> : tensor<1x4x1xf32>})
    -> (tensor<1x1x1xf32> {graph.name = "h", graph.expect = dense<0.65053522> : tensor<1x1x1xf32>},
        tensor<1x1x1xf32> {graph.name = "c", graph.expect = dense<1.14444616> : tensor<1x1x1xf32>}) {
  %y, %h, %c = graph.lstm %x, %w, %w
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}
    : (tensor<2x1x1xf32>, tensor<1x4x1xf32>, tensor<1x4x1xf32>)
    -> (tensor<2x1x1x1xf32>, tensor<1x1x1xf32>, tensor<1x1x1xf32>)
  func.return %h, %c : tensor<1x1x1xf32>, tensor<1x1x1xf32>
}
