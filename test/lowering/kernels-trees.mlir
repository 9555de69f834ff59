// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Three walks down trees at once are added up: two of them, and the third.
// CHECK-LABEL:   func.func private @kernel_k
// CHECK-COUNT-4:   memref.store
// CHECK:           arith.addf
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      arith.addf
// CHECK-NEXT:      %[[TWO:.*]] = arith.addf
// CHECK-NEXT:      arith.addf %[[TWO]],
graph.kernel @k(%x: tensor<5x2xf32>, %n: tensor<1x3x2x2xi32>, %w: tensor<1x3x2x1xf32>) -> tensor<1x5x1xf32> attributes {schedule = #kernel.schedule<"tree_ensemble", {walks = 3, rows = 4}>, interface = #kernel.interface<>} {
  %y = graph.tree_ensemble %x, %n, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0>, trees = 3 : i64, depth = 1 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x3x2x2xi32>, tensor<1x3x2x1xf32>) -> tensor<1x5x1xf32> loc("trees")
  graph.yield %y : tensor<1x5x1xf32>
}
func.func @main(%x: memref<5x2xf32>, %n: memref<1x3x2x2xi32>, %w: memref<1x3x2x1xf32>, %y: memref<1x5x1xf32>) {
  kernel.call @k ins(%x, %n, %w : memref<5x2xf32>, memref<1x3x2x2xi32>, memref<1x3x2x1xf32>) outs(%y : memref<1x5x1xf32>)
  func.return
}
