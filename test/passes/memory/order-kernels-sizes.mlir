// RUN: mini-opt %s -p order-kernels | filecheck %s

// What is large is judged at the shapes that the module is made for: with 16 rows each branch is wide in the middle, so
// one comes after the other. That is a choice: no guard says so.
// CHECK-NOT:   kernel.guards
// CHECK-LABEL: func.func @main
// CHECK:       %[[A:.*]] = graph.call @wide(%x)
// CHECK-NEXT:  %[[NA:.*]] = graph.call @narrow(%[[A]]) : (tensor<(rows)x(width)xf32>) -> tensor<1x(width)xf32>
// CHECK-NEXT:  %[[B:.*]] = graph.call @wide(%x)
// CHECK-NEXT:  %[[NB:.*]] = graph.call @narrow(%[[B]])
// CHECK-NEXT:  graph.call @sum(%[[NA]], %[[NB]])
builtin.module attributes {kernel.symbols = #kernel.symbols<dim rows = 16 in [1, 32], dim width = 1024 in [1, 4096]>} {
  graph.kernel @wide(%x: tensor<(width)xf32>) -> tensor<(rows)x(width)xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.broadcast_to %x {shape = array<i64: (rows), (width)>} : (tensor<(width)xf32>) -> tensor<(rows)x(width)xf32>
    graph.yield %r : tensor<(rows)x(width)xf32>
  }
  graph.kernel @narrow(%x: tensor<(rows)x(width)xf32>) -> tensor<1x(width)xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.reduce_sum %x {axes = array<i64: 0>, keepdims} : (tensor<(rows)x(width)xf32>) -> tensor<1x(width)xf32>
    graph.yield %r : tensor<1x(width)xf32>
  }
  graph.kernel @sum(%a: tensor<1x(width)xf32>, %b: tensor<1x(width)xf32>) -> tensor<1x(width)xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.add %a, %b : tensor<1x(width)xf32>
    graph.yield %r : tensor<1x(width)xf32>
  }
  func.func @main(%x: tensor<(width)xf32>) -> tensor<1x(width)xf32> {
    %a = graph.call @wide(%x) : (tensor<(width)xf32>) -> tensor<(rows)x(width)xf32>
    %b = graph.call @wide(%x) : (tensor<(width)xf32>) -> tensor<(rows)x(width)xf32>
    %na = graph.call @narrow(%a) : (tensor<(rows)x(width)xf32>) -> tensor<1x(width)xf32>
    %nb = graph.call @narrow(%b) : (tensor<(rows)x(width)xf32>) -> tensor<1x(width)xf32>
    %s = graph.call @sum(%na, %nb) : (tensor<1x(width)xf32>, tensor<1x(width)xf32>) -> tensor<1x(width)xf32>
    func.return %s : tensor<1x(width)xf32>
  }
}
