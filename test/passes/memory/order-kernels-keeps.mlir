// RUN: mini-opt %s -p order-kernels | filecheck %s

// In place the given order needs 4 KB at every step; without in place another order would look better. Nothing moves.
// CHECK-LABEL: func.func @main
// CHECK:       %[[A:.*]] = graph.call @negate(%x)
// CHECK-NEXT:  %[[B:.*]] = graph.call @negate(%x)
// CHECK-NEXT:  %[[C:.*]] = graph.call @negate(%[[A]])
// CHECK-NEXT:  %[[D:.*]] = graph.call @negate(%[[B]])
// CHECK-NEXT:  func.return %[[C]], %[[D]]
graph.kernel @negate(%x: tensor<1024xf32>) -> tensor<1024xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.neg %x : tensor<1024xf32>
  graph.yield %r : tensor<1024xf32>
}
func.func @main(%x: tensor<1024xf32>) -> (tensor<1024xf32>, tensor<1024xf32>) {
  %a = graph.call @negate(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %b = graph.call @negate(%x) : (tensor<1024xf32>) -> tensor<1024xf32>
  %c = graph.call @negate(%a) : (tensor<1024xf32>) -> tensor<1024xf32>
  %d = graph.call @negate(%b) : (tensor<1024xf32>) -> tensor<1024xf32>
  func.return %c, %d : tensor<1024xf32>, tensor<1024xf32>
}
