// RUN: mini-opt %s -p split-concat --split-input-file | filecheck %s

// 33 operands are one too many: 16 and 17 of them, put together.
// CHECK-LABEL: @one_too_many
// CHECK-NEXT:    %[[A:.*]] = graph.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x {axis = 0 : i64}
// CHECK-SAME:      -> tensor<32x3xf32>
// CHECK-NEXT:    %[[B:.*]] = graph.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %y {axis = 0 : i64}
// CHECK-SAME:      -> tensor<33x3xf32>
// CHECK-NEXT:    %[[C:.*]] = graph.concat %[[A]], %[[B]] {axis = 0 : i64}
// CHECK-NEXT:    func.return %[[C]]
func.func @one_too_many(%x: tensor<2x3xf32>, %y: tensor<1x3xf32>) -> tensor<65x3xf32> {
  %c = graph.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %y {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<65x3xf32>
  func.return %c : tensor<65x3xf32>
}

// -----

// A few operands stay together.
// CHECK-LABEL: @few
// CHECK-NEXT:    graph.concat %x, %x, %x
// CHECK-NEXT:    func.return
func.func @few(%x: tensor<2x3xf32>) -> tensor<6x3xf32> {
  %c = graph.concat %x, %x, %x {axis = 0 : i64} : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<6x3xf32>
  func.return %c : tensor<6x3xf32>
}
