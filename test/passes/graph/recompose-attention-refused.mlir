// RUN: mini-opt %s -p recompose-attention | filecheck %s

// Two batch dims can't share a mask with heads: the module stays as it was, without a transpose that nobody asked for.
// CHECK-LABEL: @two_batches
// CHECK-NEXT:    %[[S:.*]] = graph.matmul %q, %k :
// CHECK-NEXT:    %[[M:.*]] = graph.add %[[S]], %m
// CHECK-NEXT:    %[[W:.*]] = graph.softmax %[[M]]
// CHECK-NEXT:    %[[Y:.*]] = graph.matmul %[[W]], %v
// CHECK-NEXT:    func.return %[[Y]]
func.func @two_batches(%q: tensor<2x1x2x2x4xf32>, %k: tensor<2x1x2x4x2xf32>, %v: tensor<2x1x2x2x4xf32>, %m: tensor<2x2xf32>) -> tensor<2x1x2x2x4xf32> {
  %0 = graph.matmul %q, %k : (tensor<2x1x2x2x4xf32>, tensor<2x1x2x4x2xf32>) -> tensor<2x1x2x2x2xf32>
  %1 = graph.add %0, %m : (tensor<2x1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<2x1x2x2x2xf32>
  %2 = graph.softmax %1 {axis = 4 : i64} : tensor<2x1x2x2x2xf32>
  %3 = graph.matmul %2, %v : (tensor<2x1x2x2x2xf32>, tensor<2x1x2x2x4xf32>) -> tensor<2x1x2x2x4xf32>
  func.return %3 : tensor<2x1x2x2x4xf32>
}
