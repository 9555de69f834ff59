// RUN: mini-opt %s -p lower-to-llvm | filecheck %s

// All points of a function lead to one block that returns, from within a loop too.
// CHECK-LABEL: llvm.func @main
// CHECK:         %[[FIRST:.*]] = llvm.call @stopped
// CHECK-NEXT:    llvm.cond_br %[[FIRST]], ^[[LEAVE:[0-9a-z]+]], ^
// CHECK:       ^[[LEAVE]]:
// CHECK-NEXT:    llvm.return
// CHECK:         %[[SECOND:.*]] = llvm.call @stopped
// CHECK-NEXT:    llvm.cond_br %[[SECOND]], ^[[LEAVE]], ^
func.func @main(%stop: memref<1xi64>, %n: index) {
  %0 = arith.constant 0 : index
  %1 = arith.constant 1 : index
  %a = func.call @stopped(%stop) : (memref<1xi64>) -> i1
  kernel.return_if %a
  scf.for %i = %0 to %n step %1 {
    %b = func.call @stopped(%stop) : (memref<1xi64>) -> i1
    kernel.return_if %b
  }
  func.return
}
func.func private @stopped(memref<1xi64>) -> i1
