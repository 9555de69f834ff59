// What the workers don't carry out themselves goes to lit's shell, with the commands as processes.
// RUN: cat %s | mini-opt -p cse -o %t.mlir && mini-opt %t.mlir | filecheck %s

// CHECK: func.func @f
func.func @f() {
  func.return
}
