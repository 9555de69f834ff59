// RUN: mini-opt %s -p insert-checks,share-threads{grain=0},lower-kernels | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 524288, threads = 2>} {
graph.kernel @gather(%x: tensor<8x4xf32>, %i: tensor<2xi64>) -> tensor<2x4xf32> attributes {
  schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>
} {
  %r = graph.gather %x, %i {axis = 0 : i64} : (tensor<8x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  graph.yield %r : tensor<2x4xf32>
}

// Stages end where a loop or a branch begins and at its end; what decides is read by the one thread that runs main. The
// indices that a call in a loop is given are checked in each turn, in one place.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    graph.checks = {{\[\[}}"graph.gather", 8 : i64]]
// CHECK:         %[[P:.*]] = memref.load %p[]
// CHECK-NEXT:    scf.if %[[P]] {
// CHECK-NEXT:      scf.for
// CHECK:             func.call @share_stage_0(%team
// CHECK-NEXT:      }
// CHECK-NEXT:    }
// CHECK:       func.func @stage_0
// CHECK:         func.call @kernel_gather
func.func @main(%x: memref<8x4xf32> {graph.role = "input"}, %i: memref<2xi64> {graph.role = "input"}, %p: memref<i1> {graph.role = "input"}, %y: memref<2x4xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %q = memref.load %p[] : memref<i1>
  scf.if %q {
    scf.for %n = %c0 to %c9 step %c1 {
      kernel.call @gather ins(%x, %i : memref<8x4xf32>, memref<2xi64>) outs(%y : memref<2x4xf32>)
      kernel.barrier
    }
  }
  func.return
}
}
