// RUN: mini-opt %s -p infer-shapes --split-input-file --disable-verify --verify-diagnostics | filecheck %s

// The transpose says something wrong; it and its user are corrected, and so is the function.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    -> tensor<3x2xf32>
// CHECK-NEXT:    graph.transpose {{.*}} -> tensor<3x2xf32>
// CHECK-NEXT:    graph.relu {{.*}} : tensor<3x2xf32>
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = graph.relu %0 : tensor<2x3xf32>
  func.return %1 : tensor<2x3xf32>
}

// -----

// An op that can't be is named.
func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  // expected-error @below {{sum (graph.add): shapes 3x2 and 2x3 don't broadcast}}
  %1 = graph.add %0, %x : tensor<2x3xf32> loc("sum")
  func.return %1 : tensor<2x3xf32>
}
