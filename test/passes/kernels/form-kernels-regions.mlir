// RUN: mini-opt %s -p form-kernels | filecheck %s

// Groups lie within one block: %a is not computed in the loop that alone reads it, and what the loop reads leaves its
// group, so %b is no part of the kernel of %a. What decides about the loop and the branch stays in main.
// CHECK-LABEL: func.func @main
// CHECK:       %[[N:.*]] = tensor.extract %n[]
// CHECK:       arith.index_cast %[[N]]
// CHECK:       %[[A:.*]] = graph.call @relu_0(%x)
// CHECK:       scf.for {{.*}} iter_args(%[[S:.*]] = %[[A]])
// CHECK:         scf.if
// CHECK-NEXT:      %[[T:.*]] = graph.call @add_mul_0(%[[S]], %[[A]])
// CHECK-NEXT:      scf.yield %[[T]]
// CHECK:         } else {
// CHECK-NEXT:      scf.yield %[[S]]
// CHECK:       graph.call @neg_0(%[[A]])
// CHECK:     graph.kernel @relu_0
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>, %p: tensor<1xi1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %number = tensor.extract %n[] : tensor<i64>
  %last = arith.index_cast %number : i64 to index
  %a = graph.relu %x : tensor<4xf32>
  %y = scf.for %i = %c0 to %last step %c1 iter_args(%s = %a) -> (tensor<4xf32>) {
    %q = tensor.extract %p[%c0] : tensor<1xi1>
    %v = scf.if %q -> (tensor<4xf32>) {
      %t = graph.add %s, %a : tensor<4xf32>
      %u = graph.mul %t, %t : tensor<4xf32>
      scf.yield %u : tensor<4xf32>
    } else {
      scf.yield %s : tensor<4xf32>
    }
    scf.yield %v : tensor<4xf32>
  }
  %b = graph.neg %a : tensor<4xf32>
  func.return %y, %b : tensor<4xf32>, tensor<4xf32>
}
