// RUN: mini-opt %s -p recompose-softmax --split-input-file | filecheck %s

// CHECK-LABEL: @softmax
// CHECK-NEXT:    graph.softmax %x {axis = 1 : i64} : tensor<2x3xf32> loc("div")
// CHECK-NEXT:    func.return
func.func @softmax(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %1 = graph.sub %x, %0 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %2 = graph.exp %1 : tensor<2x3xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 1>, keepdims} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %4 = graph.div %2, %3 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32> loc("div")
  func.return %4 : tensor<2x3xf32>
}

// -----

// A sum over another axis than the maximum's: the shift stays, which changes nothing.
// CHECK-LABEL: @other_axis
// CHECK:         %[[S:.*]] = graph.sub
// CHECK-NEXT:    graph.softmax %[[S]] {axis = 0 : i64}
func.func @other_axis(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.reduce_max %x {axes = array<i64: 1>, keepdims} : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %1 = graph.sub %x, %0 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %2 = graph.exp %1 : tensor<2x3xf32>
  %3 = graph.reduce_sum %2 {axes = array<i64: 0>, keepdims} : (tensor<2x3xf32>) -> tensor<1x3xf32>
  %4 = graph.div %2, %3 : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
  func.return %4 : tensor<2x3xf32>
}
