// For reading: new weights and long constants are left out, whatever the output.
// RUN: mini-opt %s -p fold-constants,dce --elide-weights -o %t.mlir
// RUN: filecheck %s < %t.mlir
// RUN: mini-opt %s -p fold-constants,dce --elide-weights 2>&1 | filecheck %s --check-prefix=NOTE
// RUN: not mini-opt %t.mlir 2>&1 | filecheck %s --check-prefix=AGAIN

// CHECK:      graph.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK-NEXT: graph.constant dense<5.000000e-01> : tensor<99xf32>
// CHECK-NEXT: graph.constant dense_resource<__elided__> : tensor<20xi64>

// NOTE-NOT:   bytes of new weights

// AGAIN:      expected a dense<...> attribute
func.func @main() -> (tensor<2xf32>, tensor<99xf32>, tensor<20xi64>) {
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = graph.constant dense<0.5> : tensor<99xf32>
  %c = graph.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]> : tensor<20xi64>
  func.return %a, %b, %c : tensor<2xf32>, tensor<99xf32>, tensor<20xi64>
}
