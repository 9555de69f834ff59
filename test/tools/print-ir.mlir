// The module before or after passes, on standard error: named ones, all, or those that changed anything.
// RUN: mini-opt %s -p cse,dce,cse --print-ir-before=dce 2>&1 | filecheck %s --check-prefix=BEFORE
// RUN: mini-opt %s -p cse,dce,cse --print-ir-after cse 2>&1 | filecheck %s --check-prefix=AFTER
// RUN: mini-opt %s -p licm,cse,dce --print-ir-before=licm,dce --print-ir-after=dce 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: mini-opt %s -p cse,dce --print-ir-before-all 2>&1 | filecheck %s --check-prefix=BEFOREALL
// RUN: mini-opt %s -p cse,dce --print-ir-after-all 2>&1 | filecheck %s --check-prefix=AFTERALL
// RUN: mini-opt %s -p licm,cse,licm,dce --print-ir-after-change 2>&1 | filecheck %s --check-prefix=CHANGE
// RUN: mini-opt %s -p licm,cse,licm --print-ir-after-change --print-ir-after=licm 2>&1 | filecheck %s --check-prefix=NOCHANGE

// BEFORE-NOT:  // after
// BEFORE:      {{^}}// before dce
// BEFORE-NEXT: builtin.module {
// BEFORE-NEXT:   func.func @twice
// BEFORE-NEXT:     arith.addi
// BEFORE-NEXT:     func.return
// BEFORE-NOT:  // {{before|after}}

// AFTER:       // after cse
// AFTER-NOT:   // after dce
// AFTER:       // after cse
// AFTER-NOT:   // {{before|after}}

// BOTH:        // before licm
// BOTH-NOT:    // after
// BOTH:        // before dce
// BOTH-NOT:    // before
// BOTH:        // after dce

// BEFOREALL:      // before cse
// BEFOREALL-NEXT: builtin.module {
// BEFOREALL-NEXT:   func.func @twice
// BEFOREALL-NEXT:     arith.addi
// BEFOREALL-NEXT:     arith.addi
// BEFOREALL:      // before dce

// AFTERALL:    // after cse
// AFTERALL:    // after dce

// CHANGE-NOT:  // after licm
// CHANGE:      // after cse
// CHANGE-NOT:  // after

// NOCHANGE-NOT: // after
// NOCHANGE:     func.func @twice
// NOCHANGE-NOT: // after
func.func @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %a, %a : i32
  func.return %c : i32
}
