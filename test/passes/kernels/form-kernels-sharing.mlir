// New weights go to a file beside the IR.
// RUN: mini-opt %s -p form-kernels -o %t.mlir
// RUN: mini-opt %t.mlir | filecheck %s

func.func @main(%x: tensor<4x4xf32> {graph.name = "x"}) -> (tensor<4x4xf32> {graph.name = "y"}, tensor<4x4xf32> {graph.name = "z"}) {
  // A constant of one value stays in the body of an elementwise kernel; a table becomes a weight.
  // CHECK-LABEL: func.func @main
  // CHECK-NOT:     graph.constant
  // CHECK:         %[[TABLE:.*]] = graph.weight #graph.blob<{{.*}}> : tensor<4xf32>
  %half = graph.constant dense<0.5> : tensor<f32>
  %table = graph.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %w = graph.weight #graph.blob<"m", 0, 64, "a"> : tensor<4x4xf32>
  %v = graph.weight #graph.blob<"m", 64, 64, "b"> : tensor<4x4xf32>
  // CHECK:         %[[W:.*]] = graph.weight #graph.blob<"m", 0, 64, "a">
  // A weight that a kernel reads twice is two operands: one of them will be packed.
  // CHECK-NEXT:    %[[AGAIN:.*]] = graph.weight #graph.blob<"m", 0, 64, "a">
  // CHECK-NEXT:    %[[V:.*]] = graph.weight #graph.blob<"m", 64, 64, "b">

  // The same code with other weights is one kernel.
  // CHECK-NEXT:    %[[A:.*]] = graph.call @matmul_mul_0(%x, %[[W]], %[[TABLE]])
  // CHECK-NEXT:    %[[B:.*]] = graph.call @matmul_mul_0(%[[A]], %[[V]], %[[TABLE]])
  %0 = graph.matmul %x, %w : tensor<4x4xf32>
  %1 = graph.add %0, %table : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %a = graph.mul %1, %half : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>
  %2 = graph.matmul %a, %v : tensor<4x4xf32>
  %3 = graph.add %2, %table : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %b = graph.mul %3, %half : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>

  // A right-hand side that is computed makes it another kernel, whose body is the same.
  // CHECK-NEXT:    graph.call @matmul_mul_1(%[[A]], %[[B]], %[[TABLE]])
  %4 = graph.matmul %a, %b : tensor<4x4xf32>
  %5 = graph.add %4, %table : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %y = graph.mul %5, %half : (tensor<4x4xf32>, tensor<f32>) -> tensor<4x4xf32>

  // CHECK-NEXT:    graph.call @matmul_add_0(%[[B]], %[[W]], %[[AGAIN]])
  %6 = graph.matmul %b, %w : tensor<4x4xf32>
  %z = graph.add %6, %w : tensor<4x4xf32>
  func.return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>
}

// CHECK:       graph.kernel @matmul_mul_0
// CHECK-SAME:    constant_operands = array<i64: 1, 2>
// CHECK:         graph.constant dense<5.000000e-01>
// CHECK:       graph.kernel @matmul_mul_1
// CHECK-SAME:    constant_operands = array<i64: 2>
