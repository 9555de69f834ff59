// RUN: mini-opt %s -p profile-kernels --split-input-file --verify-diagnostics

// What is called in a loop has no one time.
func.func private @kernel_k(memref<4xf32>)
func.func @main(%x: memref<4xf32> {graph.role = "input"}, %team: memref<2xi64> {graph.role = "team"}) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %2 = arith.constant 2 : index
  func.call @kernel_k(%x) : (memref<4xf32>) -> ()
  scf.for %i = %0 to %2 step %1 {
    // expected-error @below {{profile-kernels: layer1/relu (func.call): no call in a loop or branch is timed}}
    func.call @kernel_k(%x) : (memref<4xf32>) -> () loc("layer1/relu")
  }
  func.return
}

// -----

// Nor in a branch, not even the call of a stage.
func.func private @share_stage_0(memref<2xi64>, index, index)
func.func @main(%c: i1, %team: memref<2xi64> {graph.role = "team"}) {
  %2 = arith.constant 2 : index
  scf.if %c {
    // expected-error @below {{profile-kernels: layer2/exp (func.call): no call in a loop or branch is timed}}
    func.call @share_stage_0(%team, %2, %2) : (memref<2xi64>, index, index) -> () loc("layer2/exp")
  }
  func.return
}
