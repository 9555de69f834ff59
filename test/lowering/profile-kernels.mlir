// RUN: mini-opt %s -p profile-kernels | filecheck %s

// Each call is noted with its begin, its number, and how many there are, one in a loop too. %times comes before the team.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[TIMES:[0-9a-z]+]]: memref<49159xi64> {graph.role = "times"}, %team: memref<2xi64>
// CHECK:         %[[BEGIN:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:    func.call @share_stage_0
// CHECK-NEXT:    %[[CALL:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[CALLS:.*]] = arith.constant 3 : index
// CHECK-NEXT:    func.call @mini_infer_note_call(%[[TIMES]], %[[CALL]], %[[CALLS]], %[[BEGIN]])
// CHECK-NEXT:    func.call @mini_infer_clock()
// CHECK-NEXT:    func.call @kernel_k
// CHECK-NEXT:    arith.constant 1 : index
// CHECK:         scf.for
// CHECK-NEXT:      func.call @mini_infer_clock()
// CHECK-NEXT:      func.call @kernel_k
// CHECK-NEXT:      arith.constant 2 : index
// CHECK-NEXT:      arith.constant 3 : index
// CHECK-NEXT:      func.call @mini_infer_note_call
func.func @main(%x: memref<4xf32> {graph.name = "x", graph.role = "input"}, %team: memref<2xi64> {graph.role = "team"}) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  func.call @share_stage_0(%team, %2, %2) : (memref<2xi64>, index, index) -> ()
  func.call @kernel_k(%x, %0, %1) : (memref<4xf32>, index, index) -> ()
  scf.for %i = %0 to %2 step %1 {
    func.call @kernel_k(%x, %0, %1) : (memref<4xf32>, index, index) -> ()
  }
  func.return
}
func.func private @share_stage_0(memref<2xi64>, index, index)
func.func private @kernel_k(memref<4xf32>, index, index)
