// RUN: mini-opt %s -p choose-token --split-input-file | filecheck %s
// RUN: mini-opt %s -p 'choose-token{top_k=40}' --split-input-file | filecheck %s --check-prefix=DRAWN
// RUN: mini-opt %s -p 'choose-token{top_k=0}' --split-input-file | filecheck %s --check-prefix=ALL

// The output of three dimensions becomes the place of the largest logit of its last row; other outputs stay.
// CHECK-LABEL: @main
// CHECK-SAME:    (%[[L:.*]]: tensor<2x7x512xf16>, %[[C:.*]]: tensor<2x4xf32>)
// CHECK-SAME:    -> (tensor<2x4xf32>, tensor<2x1xi64> {graph.name = "next_token"})
// CHECK-NEXT:    %[[S:.*]] = graph.slice %[[L]] {starts = array<i64: 0, 6, 0>, stops = array<i64: 2, 7, 512>
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[S]] {{.*}} -> tensor<2x512xf16>
// CHECK-NEXT:    %[[W:.*]] = graph.cast %[[R]] {to = f32}
// CHECK-NEXT:    %[[T:.*]] = graph.arg_max %[[W]] {axis = 1 : i64, keepdims}
// CHECK-NEXT:    func.return %[[C]], %[[T]]

// Drawn, it takes inputs, of which "uniform" alone is chance; as many tokens as it is asked for, or all, in no order.
// The most likely ones are those of the logits as they are; the temperature divides what these are less than the largest.
// DRAWN:         tensor<1xf32> {graph.name = "temperature"}
// DRAWN-SAME:    tensor<1xf32> {graph.name = "top_p"}
// DRAWN-SAME:    tensor<2x1xf32> {graph.name = "uniform"}
// DRAWN:         %[[W:.*]] = graph.cast
// DRAWN-NEXT:    %[[O:.*]] = graph.top_k %[[W]] {{.*}} count = 40
// DRAWN-NEXT:    %[[B:.*]] = graph.gather_elements %[[W]], %[[O]]
// DRAWN-NEXT:    %[[L:.*]] = graph.slice %[[B]]
// DRAWN-NEXT:    %[[D:.*]] = graph.sub %[[B]], %[[L]]
// DRAWN-NEXT:    graph.div %[[D]]
// ALL-NOT:       top_p
// ALL:           graph.reduce_max
// ALL-NEXT:      graph.sub
// ALL-NEXT:      graph.div
// ALL-NEXT:      graph.softmax
// ALL-NOT:       graph.top_k
// ALL:           graph.min
func.func @main(%logits: tensor<2x7x512xf16>, %c: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x7x512xf16>) {
  func.return %c, %logits : tensor<2x4xf32>, tensor<2x7x512xf16>
}
