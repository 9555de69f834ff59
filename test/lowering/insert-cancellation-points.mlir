// RUN: mini-opt %s -p insert-cancellation-points | filecheck %s

// Before each call of a kernel or a stage, in a loop too; the stop word comes before the times and the team.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[STOP:[0-9a-z]+]]: memref<1xi64> {graph.role = "stop"}, %times: memref<49157xi64>
// CHECK:         %[[FIRST:.*]] = func.call @mini_infer_stopped(%[[STOP]]) : (memref<1xi64>) -> i1
// CHECK-NEXT:    kernel.return_if %[[FIRST]]
// CHECK-NEXT:    func.call @share_stage_0
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %[[SECOND:.*]] = func.call @mini_infer_stopped(%[[STOP]]) : (memref<1xi64>) -> i1
// CHECK-NEXT:      kernel.return_if %[[SECOND]]
// CHECK-NEXT:      func.call @kernel_k
func.func @main(%x: memref<4xf32> {graph.name = "x", graph.role = "input"}, %times: memref<49157xi64> {graph.role = "times"}, %team: memref<2xi64> {graph.role = "team"}) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  func.call @share_stage_0(%team, %2, %2) : (memref<2xi64>, index, index) -> ()
  scf.for %i = %0 to %2 step %1 {
    func.call @kernel_k(%x, %0, %1, %0) : (memref<4xf32>, index, index, index) -> ()
  }
  func.return
}

// The stage takes the stop word where main does, and other functions stay as they are.
// CHECK-LABEL: func.func @stage_0
// CHECK-SAME:    (%x: memref<4xf32>, %[[STOP:[0-9a-z]+]]: memref<1xi64> {graph.role = "stop"}, %share: index
// CHECK-NEXT:    %[[POINT:.*]] = func.call @mini_infer_stopped(%[[STOP]]) : (memref<1xi64>) -> i1
// CHECK-NEXT:    kernel.return_if %[[POINT]]
// CHECK-NEXT:    func.call @kernel_k
func.func @stage_0(%x: memref<4xf32>, %share: index, %shares: index, %seat: index) {
  func.call @kernel_k(%x, %share, %shares, %seat) : (memref<4xf32>, index, index, index) -> ()
  func.return
}
func.func private @share_stage_0(memref<2xi64>, index, index)
// CHECK: func.func private @kernel_k(%x: memref<4xf32>, %share: index, %shares: index, %seat: index) {
func.func private @kernel_k(%x: memref<4xf32>, %share: index, %shares: index, %seat: index) {
  func.call @kernel_helper() : () -> ()
  func.return
}
func.func private @kernel_helper()
// CHECK: func.func private @mini_infer_stopped(memref<1xi64>) -> i1
