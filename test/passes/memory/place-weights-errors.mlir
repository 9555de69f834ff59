// RUN: not mini-opt %s -p place-weights 2>&1 | filecheck %s
// RUN: not mini-opt %s -p insert-barriers 2>&1 | filecheck %s --check-prefix=BARRIERS
// RUN: not mini-opt %s -p verify-arena 2>&1 | filecheck %s --check-prefix=VERIFY

// CHECK: place-weights: main has no argument with the role 'arena'; run plan-arena first
// BARRIERS: insert-barriers: main has no argument with the role 'arena'; run plan-arena first
// VERIFY: verify-arena: main has no argument with the role 'arena'; run plan-arena first
func.func @main(%x: memref<4xf32> {graph.role = "input"}) {
  func.return
}
