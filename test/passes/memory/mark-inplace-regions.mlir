// RUN: mini-opt %s -p mark-inplace | filecheck %s

graph.kernel @relu(%a: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %a : tensor<4xf32>
  graph.yield %r : tensor<4xf32>
}

// In the loop, %a comes from outside: the next turn reads it again. What the loop carries may be overwritten, and so
// may what is made in the turn. Behind the loop nobody reads %a.
// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = graph.call @relu(%x) :
// CHECK:         scf.for {{.*}} iter_args(%s =
// CHECK-NEXT:      graph.call @relu(%[[A]]) :
// CHECK-NEXT:      %[[T:.*]] = graph.call @relu(%s) {inplace
// CHECK-NEXT:      graph.call @relu(%[[T]]) {inplace
// CHECK:         graph.call @relu(%[[A]]) {inplace
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = graph.call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %y, %z = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x, %o = %x) -> (tensor<4xf32>, tensor<4xf32>) {
    %r = graph.call @relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
    %t = graph.call @relu(%s) : (tensor<4xf32>) -> tensor<4xf32>
    %u = graph.call @relu(%t) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %u, %r : tensor<4xf32>, tensor<4xf32>
  }
  %b = graph.call @relu(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = graph.call @relu(%b) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y, %c : tensor<4xf32>, tensor<4xf32>
}
