// RUN: mini-opt %s -p profile-kernels | filecheck %s

// The first thread notes the time before the first kernel and after each; %times comes before the barrier's state.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[TIMES:[0-9a-z]+]]: memref<2xi64> {graph.role = "times"}, %sync: memref<16xi32>
// CHECK:         arith.cmpi eq, %thread
// CHECK:         scf.if
// CHECK:           %[[T0:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:      memref.store %[[T0]], %[[TIMES]][%{{.*}}]
// CHECK:         func.call @kernel_k
// CHECK:           %[[T1:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:      memref.store %[[T1]], %[[TIMES]][%{{.*}}]
func.func @main(%x: memref<4xf32> {graph.name = "x", graph.role = "input"}, %sync: memref<16xi32> {}, %thread: index {}, %threads: index {}) {
  func.call @kernel_k(%x, %thread, %threads) : (memref<4xf32>, index, index) -> ()
  func.return
}
func.func private @kernel_k(memref<4xf32>, index, index)
