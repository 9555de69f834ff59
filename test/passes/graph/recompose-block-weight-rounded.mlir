// RUN: mini-opt %s -p 'recompose-block-weight{lhs_as=i8}' | filecheck %s

// Asked for, the left operand may be rounded; that of another product may not.
// CHECK-LABEL: @rounded
// CHECK:         graph.matmul %x, %{{.*}} {transpose_b, lhs_as = i8}
// CHECK-NEXT:    graph.matmul %x, %v :
func.func @rounded(%x: tensor<5x2xf32>, %v: tensor<2x3xf32>) -> (tensor<5x1xf32>, tensor<5x3xf32>) {
  %w = graph.constant dense<[[[1, 2]]]> : tensor<1x1x2xui8>
  %s = graph.constant dense<[[[2.0]]]> : tensor<1x1x1xf32>
  %d = graph.dequantize %w, %s : (tensor<1x1x2xui8>, tensor<1x1x1xf32>) -> tensor<1x1x2xf32>
  %r = graph.reshape %d {shape = array<i64: 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
  %y = graph.matmul %x, %r {transpose_b} : (tensor<5x2xf32>, tensor<1x2xf32>) -> tensor<5x1xf32>
  %z = graph.matmul %x, %v : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  func.return %y, %z : tensor<5x1xf32>, tensor<5x3xf32>
}
