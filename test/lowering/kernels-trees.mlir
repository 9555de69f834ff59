// RUN: mini-opt %s --split-input-file -p lower-kernels | filecheck %s

// Three walks down trees at once: what is in their leaves is added in the order of the trees.
// CHECK-LABEL:   func.func private @kernel_k
// CHECK-COUNT-4:   memref.store
// CHECK:           %[[ONE:.*]] = arith.addf
// CHECK-NEXT:      %[[TWO:.*]] = arith.addf %[[ONE]],
// CHECK-NEXT:      %[[THREE:.*]] = arith.addf %[[TWO]],
// CHECK-NEXT:      memref.store %[[THREE]]
graph.kernel @k(%x: tensor<5x2xf32>, %n: tensor<1x3x2x2xi32>, %w: tensor<1x3x2x1xf32>) -> tensor<1x5x1xf32> attributes {schedule = #kernel.schedule<"tree_ensemble", {walks = 3, rows = 4, lanes = 4}>, interface = #kernel.interface<>} {
  %y = graph.tree_ensemble %x, %n, %w {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0>, trees = 3 : i64, depth = 1 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x3x2x2xi32>, tensor<1x3x2x1xf32>) -> tensor<1x5x1xf32> loc("trees")
  graph.yield %y : tensor<1x5x1xf32>
}
func.func @main(%x: memref<5x2xf32>, %n: memref<1x3x2x2xi32>, %w: memref<1x3x2x1xf32>, %y: memref<1x5x1xf32>) {
  kernel.call @k ins(%x, %n, %w : memref<5x2xf32>, memref<1x3x2x2xi32>, memref<1x3x2x1xf32>) outs(%y : memref<1x5x1xf32>)
  func.return
}

// -----

// Tests of two vectors of rows: each keeps the leaves of its mask where x is greater; the first one left is counted from below.
// CHECK-LABEL:   func.func private @kernel_k
// CHECK:           %[[LEFT:.*]], %[[RIGHT:.*]] = scf.for %{{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (vector<4xi32>, vector<4xi32>)
// CHECK:             arith.cmpf ugt, %{{.*}} : vector<4xf32>
// CHECK-NEXT:        arith.andi %[[A]], %{{.*}} : vector<4xi32>
// CHECK-NEXT:        arith.select %{{.*}}, %{{.*}}, %[[A]]
// CHECK:             arith.cmpf ugt, %{{.*}} : vector<4xf32>
// CHECK-NEXT:        arith.andi %[[B]], %{{.*}} : vector<4xi32>
// CHECK-NEXT:        arith.select %{{.*}}, %{{.*}}, %[[B]]
// CHECK:           math.cttz %[[LEFT]] : vector<4xi32>
// CHECK:           math.cttz %[[RIGHT]] : vector<4xi32>
graph.kernel @k(%x: tensor<8x2xf32>, %n: tensor<1x3x2x2xi32>, %w: tensor<1x3x2x1xf32>, %t: tensor<1x3x2x3xi32>) -> tensor<1x8x1xf32> attributes {schedule = #kernel.schedule<"tree_ensemble", {walks = 3, rows = 8, lanes = 4, vectors = 2}>, interface = #kernel.interface<per_thread = 128>} {
  %y = graph.tree_ensemble %x, %n, %w, %t {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, trees = 3 : i64, depth = 1 : i64, aggregate = "sum"} : (tensor<8x2xf32>, tensor<1x3x2x2xi32>, tensor<1x3x2x1xf32>, tensor<1x3x2x3xi32>) -> tensor<1x8x1xf32> loc("trees")
  graph.yield %y : tensor<1x8x1xf32>
}
func.func @main(%x: memref<8x2xf32>, %n: memref<1x3x2x2xi32>, %w: memref<1x3x2x1xf32>, %t: memref<1x3x2x3xi32>, %s: memref<128xi8>, %y: memref<1x8x1xf32>) {
  kernel.call @k ins(%x, %n, %w, %t : memref<8x2xf32>, memref<1x3x2x2xi32>, memref<1x3x2x1xf32>, memref<1x3x2x3xi32>) outs(%y : memref<1x8x1xf32>) scratch(%s : memref<128xi8>)
  func.return
}
