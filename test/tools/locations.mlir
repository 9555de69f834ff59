// Locations that are known are printed, so a module that was written carries its nodes' names on.
// RUN: mini-opt %s | filecheck %s
// RUN: mini-opt %s | mini-opt | filecheck %s
// RUN: mini-opt %s --print-op-generic | mini-opt | filecheck %s

// CHECK:      func.func @f(%[[A:.*]]: i32 loc("input")) -> i32 {
// CHECK-NEXT:   %[[B:.*]] = arith.addi %[[A]], %[[A]] : i32 loc("/layer1/add")
// CHECK-NEXT:   func.return %[[B]] : i32{{$}}
func.func @f(%a: i32 loc("input")) -> i32 {
  %b = arith.addi %a, %a : i32 loc("/layer1/add")
  func.return %b : i32
}
