// RUN: mini-opt %s -p form-kernels --split-input-file | filecheck %s

// Both products are computed where they are added up, with what makes the second one's operand.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[Y:.*]] = graph.call @mul_add_0(
// CHECK-NEXT:    func.return %[[Y]]
// CHECK:       graph.kernel @mul_add_0
// CHECK:         graph.exp
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.mul
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.yield
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %c: tensor<3x4xf32>, %d: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = graph.mul %a, %b : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %1 = graph.exp %c : tensor<3x4xf32>
  %2 = graph.mul %1, %d : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %y = graph.add %0, %2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %y : tensor<3x4xf32>
}

// -----

// What somebody else reads stays a kernel of its own, and so does what is smaller: it would be computed for each row.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[E:.*]] = graph.call @exp_0(%b) : (tensor<4xf32>)
// CHECK-NEXT:    %[[T:.*]] = graph.call @tanh_0(%c)
// CHECK-NEXT:    %[[Y:.*]] = graph.call @mul_add_0(
// CHECK-NEXT:    func.return %[[T]], %[[Y]]
func.func @main(%a: tensor<3x4xf32>, %b: tensor<4xf32>, %c: tensor<3x4xf32>) -> (tensor<3x4xf32>, tensor<3x4xf32>) {
  %0 = graph.exp %b : tensor<4xf32>
  %1 = graph.tanh %c : tensor<3x4xf32>
  %2 = graph.mul %a, %0 : (tensor<3x4xf32>, tensor<4xf32>) -> tensor<3x4xf32>
  %y = graph.add %2, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  func.return %1, %y : tensor<3x4xf32>, tensor<3x4xf32>
}
