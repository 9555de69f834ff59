// RUN: mini-opt %s -t check | filecheck %s

// Negative numbers become zero; -0.0 is not negative.
// CHECK: y: reference, unfused, fused agree
func.func @main(%x: tensor<5xf32> {graph.name = "x", graph.value = dense<[-1.0, -0.0, 0.0, 2.0, 1.0e30]> : tensor<5xf32>})
    -> (tensor<5xf32> {graph.name = "y", graph.expect = dense<[0.0, 0.0, 0.0, 2.0, 1.0e30]> : tensor<5xf32>}) {
  %y = graph.relu %x : tensor<5xf32>
  func.return %y : tensor<5xf32>
}
