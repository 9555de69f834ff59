// RUN: mini-opt %s -p insert-checks --split-input-file | mini-opt --split-input-file | filecheck %s
// RUN: mini-opt %s -p insert-checks,insert-checks --split-input-file | filecheck %s

// One place for a gather's dimension of 5 elements, two for those of 4 and 6 that pairs of indices name: bytes 0 to 8
// and 8 to 24. A kernel that two nodes share has places for each.
// CHECK:       func.func @main(
// CHECK-SAME:    %[[STATUS:status]]: memref<32xi8> {graph.role = "status", graph.checks = {{\[\[}}"first (graph.gather)", 5 : i64], ["pairs (graph.gather_nd)", 4 : i64], ["pairs (graph.gather_nd)", 6 : i64], ["second (graph.gather)", 5 : i64]]})
// CHECK:         %[[A:.*]] = memref.view %[[STATUS]][%{{.*}}][] : memref<32xi8> to memref<1xi64>
// CHECK-NEXT:    kernel.call @rows ins(%x, %i : {{.*}}) outs(%y : memref<3xf32>) status(%[[A]] : memref<1xi64>)
// CHECK-NEXT:    kernel.call @relu ins(%y : memref<3xf32>) outs(%y : memref<3xf32>)
// CHECK-NEXT:    %[[B:.*]] = memref.view %[[STATUS]][%{{.*}}][] : memref<32xi8> to memref<2xi64>
// CHECK-NEXT:    kernel.call @pairs ins(%m, %p : {{.*}}) outs(%y : {{.*}}) scratch(%arena : memref<64xi8>) status(%[[B]] : memref<2xi64>) {note = "kept"}
// Indices that are constants in the body were judged when they were folded.
// CHECK-NEXT:    kernel.call @known ins(%x : memref<5xf32>) outs(%y : memref<3xf32>)
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %[[C:.*]] = memref.view %[[STATUS]][%{{.*}}][] : memref<32xi8> to memref<1xi64>
// CHECK-NEXT:      kernel.call @rows ins(%x, %j : {{.*}}) outs(%y : memref<3xf32>) status(%[[C]] : memref<1xi64>)
func.func @main(%x: memref<5xf32> {graph.role = "input"}, %m: memref<4x6xf32> {graph.role = "input"}, %i: memref<3xi32> {graph.role = "input"}, %j: memref<3xi32> {graph.role = "input"}, %p: memref<3x2xi64> {graph.role = "input"}, %y: memref<3xf32> {graph.role = "output"}, %arena: memref<64xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  kernel.call @rows ins(%x, %i : memref<5xf32>, memref<3xi32>) outs(%y : memref<3xf32>) loc("first")
  kernel.call @relu ins(%y : memref<3xf32>) outs(%y : memref<3xf32>) loc("relu")
  kernel.call @pairs ins(%m, %p : memref<4x6xf32>, memref<3x2xi64>) outs(%y : memref<3xf32>) scratch(%arena : memref<64xi8>) {note = "kept"}
  kernel.call @known ins(%x : memref<5xf32>) outs(%y : memref<3xf32>)
  scf.for %k = %c0 to %c1 step %c1 {
    kernel.call @rows ins(%x, %j : memref<5xf32>, memref<3xi32>) outs(%y : memref<3xf32>) loc("second")
  }
  func.return
}
graph.kernel @rows(%x: tensor<5xf32>, %i: tensor<3xi32>) -> tensor<3xf32> {
  %r = graph.gather %x, %i {axis = 0 : i64} : (tensor<5xf32>, tensor<3xi32>) -> tensor<3xf32> loc("first")
  graph.yield %r : tensor<3xf32>
}
graph.kernel @relu(%x: tensor<3xf32>) -> tensor<3xf32> {
  %r = graph.relu %x : tensor<3xf32>
  graph.yield %r : tensor<3xf32>
}
graph.kernel @pairs(%x: tensor<4x6xf32>, %i: tensor<3x2xi64>) -> tensor<3xf32> {
  %r = graph.gather_nd %x, %i {batch_dims = 0 : i64} : (tensor<4x6xf32>, tensor<3x2xi64>) -> tensor<3xf32> loc("pairs")
  graph.yield %r : tensor<3xf32>
}
graph.kernel @known(%x: tensor<5xf32>) -> tensor<3xf32> {
  %i = graph.constant dense<2> : tensor<3xi64>
  %r = graph.gather %x, %i {axis = 0 : i64} : (tensor<5xf32>, tensor<3xi64>) -> tensor<3xf32>
  graph.yield %r : tensor<3xf32>
}

// -----

// A graph.fail has a place of its own, of which its message is all there is to tell.
// CHECK:       func.func @main(
// CHECK-SAME:    %[[STATUS:status]]: memref<8xi8> {graph.role = "status", graph.checks = {{\[\[}}"If_0 (If): it can't be"]]})
// CHECK:         } else {
// CHECK-NEXT:      %[[S:.*]] = memref.view %[[STATUS]][%{{.*}}][] : memref<8xi8> to memref<1xi64>
// CHECK-NEXT:      kernel.call @fail outs(%y : memref<3xf32>) status(%[[S]] : memref<1xi64>)
func.func @main(%x: memref<3xf32> {graph.role = "input"}, %c: memref<i1> {graph.role = "input"}, %y: memref<3xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) {
  %taken = memref.load %c[] : memref<i1>
  scf.if %taken {
    kernel.call @relu ins(%x : memref<3xf32>) outs(%y : memref<3xf32>)
  } else {
    kernel.call @fail outs(%y : memref<3xf32>) loc("If_0")
  }
  func.return
}
graph.kernel @relu(%x: tensor<3xf32>) -> tensor<3xf32> {
  %r = graph.relu %x : tensor<3xf32>
  graph.yield %r : tensor<3xf32>
}
graph.kernel @fail() -> tensor<3xf32> {
  %r = graph.fail {message = "If_0 (If): it can't be"} : tensor<3xf32>
  graph.yield %r : tensor<3xf32>
}

// -----

// Where there is nothing to check, main stays as it is.
// CHECK-LABEL: func.func @main(%x: memref<3xf32> {graph.role = "input"}, %arena: memref<0xi8> {graph.role = "arena"}) {
// CHECK-NEXT:    kernel.call @relu ins(%x : memref<3xf32>) outs(%x : memref<3xf32>)
func.func @main(%x: memref<3xf32> {graph.role = "input"}, %arena: memref<0xi8> {graph.role = "arena"}) {
  kernel.call @relu ins(%x : memref<3xf32>) outs(%x : memref<3xf32>)
  func.return
}
graph.kernel @relu(%x: tensor<3xf32>) -> tensor<3xf32> {
  %r = graph.relu %x : tensor<3xf32>
  graph.yield %r : tensor<3xf32>
}
