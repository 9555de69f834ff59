// RUN: mini-opt %s -p insert-barriers --split-input-file | filecheck %s

graph.kernel @k(%x: tensor<16xf32>) -> tensor<16xf32> {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}

// Around a loop, and between its turns, there always is a barrier.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @k
// CHECK-NEXT:  kernel.barrier
// CHECK-NEXT:  scf.for
// CHECK-NEXT:    kernel.call @k
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:  }
// CHECK-NEXT:  kernel.call @k
// CHECK-NEXT:  func.return
func.func @main(%x: memref<16xf32> {graph.role = "input"}, %y: memref<16xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2} : memref<256xi8> to memref<16xf32>
  kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  scf.for %i = %c0 to %c9 step %c1 {
    kernel.call @k ins(%a : memref<16xf32>) outs(%a : memref<16xf32>)
  }
  kernel.call @k ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  func.return
}

// -----

graph.kernel @k(%x: tensor<16xf32>) -> tensor<16xf32> {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}

// Whether there is another turn is decided between barriers, and needs none itself.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @k
// CHECK-NEXT:  kernel.barrier
// CHECK-NEXT:  scf.while
// CHECK-NEXT:    scf.condition
// CHECK-NEXT:  } do {
// CHECK:         kernel.call @k
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    scf.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  kernel.call @k
func.func @main(%x: memref<16xf32> {graph.role = "input"}, %y: memref<16xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2} : memref<256xi8> to memref<16xf32>
  kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %last = scf.while (%on = %true) : (i1) -> i1 {
    scf.condition(%on) %on : i1
  } do {
  ^bb0(%on: i1):
    kernel.call @k ins(%a : memref<16xf32>) outs(%a : memref<16xf32>)
    scf.yield %on : i1
  }
  kernel.call @k ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  func.return
}
