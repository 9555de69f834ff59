// RUN: mini-opt %s -p profile-kernels | filecheck %s

// The time is noted before the first kernel and after each, shared or not; %times comes before the team.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[TIMES:[0-9a-z]+]]: memref<3xi64> {graph.role = "times"}, %team: memref<2xi64>
// CHECK:         %[[T0:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:    memref.store %[[T0]], %[[TIMES]][%{{.*}}]
// CHECK:         func.call @share_stage_0
// CHECK:         %[[T1:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:    memref.store %[[T1]], %[[TIMES]][%{{.*}}]
// CHECK-NEXT:    func.call @kernel_k
// CHECK:         %[[T2:.*]] = func.call @mini_infer_clock()
// CHECK-NEXT:    memref.store %[[T2]], %[[TIMES]][%{{.*}}]
// CHECK-NEXT:    func.return
func.func @main(%x: memref<4xf32> {graph.name = "x", graph.role = "input"}, %team: memref<2xi64> {graph.role = "team"}) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  func.call @share_stage_0(%team, %2, %2) : (memref<2xi64>, index, index) -> ()
  func.call @kernel_k(%x, %0, %1) : (memref<4xf32>, index, index) -> ()
  func.return
}
func.func private @share_stage_0(memref<2xi64>, index, index)
func.func private @kernel_k(memref<4xf32>, index, index)
