// What the verifier refuses is shown: the op itself, not the first line of the module.
// RUN: not mini-opt %s -p cse 2>&1 | filecheck %s

// CHECK:      error: property 'stops' expected in operation 'graph.slice'
// CHECK-NEXT: {{^}}  %{{.*}} = "graph.slice"(%{{.*}})
// CHECK-NOT:  graph.relu

func.func @main(%x: tensor<2x3xf32> {graph.name = "x"}) -> (tensor<2x3xf32> {graph.name = "y"}) {
  %0 = "graph.relu"(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = "graph.slice"(%0) <{starts = array<i64: 0>, sizes = array<i64: 9>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}
