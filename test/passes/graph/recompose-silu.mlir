// RUN: mini-opt %s -p recompose-silu --split-input-file | filecheck %s

// CHECK-LABEL: @silu
// CHECK-NEXT:    graph.silu %x : tensor<4xf32> loc("mul")
// CHECK-NEXT:    func.return
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = graph.sigmoid %x : tensor<4xf32>
  %1 = graph.mul %x, %0 : tensor<4xf32> loc("mul")
  func.return %1 : tensor<4xf32>
}

// -----

// The sigmoid is needed anyway.
// CHECK-LABEL: @shared
// CHECK:         graph.mul
func.func @shared(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = graph.sigmoid %x : tensor<4xf32>
  %1 = graph.mul %x, %0 : tensor<4xf32>
  func.return %1, %0 : tensor<4xf32>, tensor<4xf32>
}
