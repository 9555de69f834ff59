// RUN: mini-opt %s --split-input-file -p advise-weights{budget=262144},cse | filecheck %s

// Four blocks of 64 KB fit the budget. Two calls of @two read two each and share a window; the weights of @three, in
// blocks 4 to 6, are the next. At the beginning of a window all others are released.
// CHECK-LABEL: @main(%x: memref<4xf32>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C4:.*]] = arith.constant 262144 : index
// CHECK-DAG:     %[[END:.*]] = arith.constant 458752 : index
// CHECK:         func.call @mini_infer_release_weights(%weights, %[[C4]], %[[END]]) : (memref<458752xi8>, index, index) -> ()
// CHECK-NEXT:    func.call @mini_infer_map_weights(%weights, %[[C0]], %[[C4]])
// CHECK-NEXT:    kernel.call @two
// CHECK-NEXT:    kernel.call @two
// CHECK-NEXT:    func.call @mini_infer_release_weights(%weights, %[[C0]], %[[C4]])
// CHECK-NEXT:    func.call @mini_infer_map_weights(%weights, %[[C4]], %[[END]])
// CHECK-NEXT:    kernel.call @three
// CHECK-NEXT:    func.return
// CHECK:         func.func private @mini_infer_release_weights(memref<458752xi8>, index, index)
func.func @main(%x: memref<4xf32> {graph.role = "input"}, %y: memref<4xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<458752xi8> {graph.role = "weights"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 131072 : index
  %c4 = arith.constant 262144 : index
  %a = memref.view %weights[%c0][] : memref<458752xi8> to memref<32768xf32>
  %b = memref.view %weights[%c2][] : memref<458752xi8> to memref<32768xf32>
  %c = memref.view %weights[%c4][] : memref<458752xi8> to memref<49152xf32>
  kernel.call @two ins(%x, %a : memref<4xf32>, memref<32768xf32>) outs(%y : memref<4xf32>)
  kernel.call @two ins(%x, %b : memref<4xf32>, memref<32768xf32>) outs(%y : memref<4xf32>)
  kernel.call @three ins(%x, %c : memref<4xf32>, memref<49152xf32>) outs(%y : memref<4xf32>)
  func.return
}
graph.kernel @two(%x: tensor<4xf32>, %w: tensor<32768xf32>) -> tensor<4xf32> {
  %0 = graph.slice %w {starts = array<i64: 0>, stops = array<i64: 4>, steps = array<i64: 1>} : (tensor<32768xf32>) -> tensor<4xf32>
  %1 = graph.add %x, %0 : tensor<4xf32>
  graph.yield %1 : tensor<4xf32>
}
graph.kernel @three(%x: tensor<4xf32>, %w: tensor<49152xf32>) -> tensor<4xf32> {
  %0 = graph.slice %w {starts = array<i64: 0>, stops = array<i64: 4>, steps = array<i64: 1>} : (tensor<49152xf32>) -> tensor<4xf32>
  %1 = graph.add %x, %0 : tensor<4xf32>
  graph.yield %1 : tensor<4xf32>
}

// -----

// What a loop reads exceeds the budget, so that windows are within it, for each turn; the call behind it has its own.
// CHECK-LABEL: @main(%y: memref<4xf32>
// CHECK:         scf.for
// CHECK-NEXT:      func.call @mini_infer_release_weights
// CHECK-NEXT:      func.call @mini_infer_map_weights
// CHECK-NEXT:      kernel.call
// CHECK-NEXT:      func.call @mini_infer_release_weights
// CHECK-NEXT:      func.call @mini_infer_map_weights
// CHECK-NEXT:      kernel.call
// CHECK-NEXT:    }
// CHECK-NEXT:    func.call @mini_infer_release_weights
// CHECK-NEXT:    func.call @mini_infer_map_weights
// CHECK-NEXT:    kernel.call
func.func @main(%y: memref<4xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<393216xi8> {graph.role = "weights"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 196608 : index
  %a = memref.view %weights[%c0][] : memref<393216xi8> to memref<49152xf32>
  %b = memref.view %weights[%c3][] : memref<393216xi8> to memref<49152xf32>
  scf.for %i = %c0 to %c3 step %c1 {
    kernel.call @three ins(%a : memref<49152xf32>) outs(%y : memref<4xf32>)
    kernel.call @three ins(%b : memref<49152xf32>) outs(%y : memref<4xf32>)
  }
  kernel.call @three ins(%a : memref<49152xf32>) outs(%y : memref<4xf32>)
  func.return
}
graph.kernel @three(%w: tensor<49152xf32>) -> tensor<4xf32> {
  %0 = graph.slice %w {starts = array<i64: 0>, stops = array<i64: 4>, steps = array<i64: 1>} : (tensor<49152xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// A kernel that gathers one row of a table of 512 KB needs at most two blocks, which are mapped when they are read.
// CHECK-LABEL: @main(%i: memref<1xi64>
// CHECK-DAG:     %[[TABLE:.*]] = arith.constant 524288 : index
// CHECK-DAG:     %[[END:.*]] = arith.constant 655360 : index
// CHECK:         func.call @mini_infer_release_weights(%weights, %{{.*}}, %[[TABLE]])
// CHECK-NEXT:    func.call @mini_infer_map_weights(%weights, %[[TABLE]], %[[END]])
// CHECK-NEXT:    kernel.call @gather
// CHECK-NEXT:    kernel.call @two
// CHECK-NEXT:    func.return
func.func @main(%i: memref<1xi64> {graph.role = "input"}, %y: memref<1x128xf32> {graph.role = "output"}, %z: memref<4xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<655360xi8> {graph.role = "weights"}) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 524288 : index
  %table = memref.view %weights[%c0][] : memref<655360xi8> to memref<1024x128xf32>
  %a = memref.view %weights[%c8][] : memref<655360xi8> to memref<32768xf32>
  kernel.call @gather ins(%table, %i : memref<1024x128xf32>, memref<1xi64>) outs(%y : memref<1x128xf32>)
  kernel.call @two ins(%a : memref<32768xf32>) outs(%z : memref<4xf32>)
  func.return
}
graph.kernel @gather(%table: tensor<1024x128xf32>, %i: tensor<1xi64>) -> tensor<1x128xf32> {
  %0 = graph.gather %table, %i {axis = 0 : i64} : (tensor<1024x128xf32>, tensor<1xi64>) -> tensor<1x128xf32>
  graph.yield %0 : tensor<1x128xf32>
}
graph.kernel @two(%w: tensor<32768xf32>) -> tensor<4xf32> {
  %0 = graph.slice %w {starts = array<i64: 0>, stops = array<i64: 4>, steps = array<i64: 1>} : (tensor<32768xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}

// -----

// Weights that fit as a whole get no advice.
// CHECK-LABEL: @main(%arena: memref<0xi8>
// CHECK-NOT:     mini_infer
func.func @main(%arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<262144xi8> {graph.role = "weights"}) {
  func.return
}
