// What is told about passes goes to standard error, so the module can still be piped on.
// RUN: mini-opt %s -p cse,dce --time-passes | filecheck %s --check-prefix=OUT
// RUN: mini-opt %s -p cse,dce --time-passes 2>&1 | filecheck %s --check-prefix=TIME
// RUN: mini-opt %s -p cse,dce --print-between-passes 2>&1 | filecheck %s --check-prefix=BETWEEN
// RUN: mini-opt %s -p cse --statistics 2>&1 | filecheck %s --check-prefix=NOTHING

// OUT-NOT:     ms

// TIME:        ms  cse
// TIME:        ms  dce
// TIME:        func.func @main

// BETWEEN:     // after cse
// BETWEEN:     func.func @main
// BETWEEN:     // after dce
// BETWEEN:     func.func @main

// NOTHING:     no pass changed anything
func.func @main() {
  func.return
}
