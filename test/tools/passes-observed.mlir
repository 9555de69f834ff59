// What is told about passes goes to standard error, so the module can still be piped on.
// RUN: mini-opt %s -p cse,dce --time-passes | filecheck %s --check-prefix=OUT
// RUN: mini-opt %s -p cse,dce --time-passes 2>&1 | filecheck %s --check-prefix=TIME
// RUN: mini-opt %s -p cse,dce --print-between-passes 2>&1 | filecheck %s --check-prefix=BETWEEN
// RUN: mini-opt %s -p cse,dce --statistics 2>&1 | filecheck %s --check-prefix=COUNTS
// RUN: mini-opt %s -p '' --statistics 2>&1 | filecheck %s --check-prefix=NOTHING

// OUT-NOT:     ms

// TIME:        ms  cse
// TIME:        ms  dce
// TIME:        func.func @main

// BETWEEN:     // after cse
// BETWEEN:     func.func @main
// BETWEEN:     // after dce
// BETWEEN:     func.func @main

// COUNTS:      {{^}}     0  cse  ops made
// COUNTS-NEXT: {{^}}     1  cse  ops gone
// COUNTS-NEXT: {{^}}     0  dce  ops made
// COUNTS-NEXT: {{^}}     0  dce  ops gone

// NOTHING:     no pass was run
func.func @main() -> (i32, i32) {
  %a = arith.constant 1 : i32
  %b = arith.constant 1 : i32
  func.return %a, %b : i32, i32
}
