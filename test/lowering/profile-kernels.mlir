// RUN: mini-opt %s -p profile-kernels | filecheck %s

// What each call takes and how often it is made are added up, of one in a loop too; %times comes before the team.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[TIMES:[0-9a-z]+]]: memref<3x2xi64> {graph.role = "times"}, %team: memref<2xi64>
// CHECK:         %[[BEFORE:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:    func.call @share_stage_0
// CHECK-NEXT:    %[[AFTER:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:    %[[TAKEN:.*]] = arith.subi %[[AFTER]], %[[BEFORE]] : i64
// CHECK-NEXT:    %[[ONCE:.*]] = arith.constant 1 : i64
// CHECK-NEXT:    %[[CALL:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[FIRST:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[OLD:.*]] = memref.load %[[TIMES]][%[[CALL]], %[[FIRST]]]
// CHECK-NEXT:    %[[NEW:.*]] = arith.addi %[[OLD]], %[[TAKEN]] : i64
// CHECK-NEXT:    memref.store %[[NEW]], %[[TIMES]][%[[CALL]], %[[FIRST]]]
// CHECK-NEXT:    %[[SECOND:.*]] = arith.constant 1 : index
// CHECK-NEXT:    %[[COUNT:.*]] = memref.load %[[TIMES]][%[[CALL]], %[[SECOND]]]
// CHECK-NEXT:    %[[MORE:.*]] = arith.addi %[[COUNT]], %[[ONCE]] : i64
// CHECK-NEXT:    memref.store %[[MORE]], %[[TIMES]][%[[CALL]], %[[SECOND]]]
// CHECK:         func.call @mini_infer_clock()
// CHECK-NEXT:    func.call @kernel_k
// CHECK-NEXT:    func.call @mini_infer_clock()
// CHECK:         scf.for
// CHECK-NEXT:      func.call @mini_infer_clock()
// CHECK-NEXT:      func.call @kernel_k
// CHECK-NEXT:      func.call @mini_infer_clock()
// CHECK:           arith.constant 2 : index
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
