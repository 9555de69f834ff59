// The same passes, by either name of the option, with MLIR's wrapper and blanks, and as nothing at all.
// RUN: mini-opt %s -p cse,dce | filecheck %s
// RUN: mini-opt %s --pass-pipeline 'builtin.module(cse, dce)' | filecheck %s
// RUN: mini-opt %s -p cse | mini-opt -p dce | filecheck %s
// RUN: mini-opt %s -p '' | filecheck %s --check-prefix=SAME

// CHECK-LABEL: @twice
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi
// CHECK-NEXT:    func.return %[[SUM]]

// SAME-LABEL: @twice
// SAME:         arith.addi
// SAME:         arith.addi
func.func @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %a, %a : i32
  func.return %c : i32
}
