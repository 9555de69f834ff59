// A module that doesn't parse or verify gives its error in its place; the others give themselves.
// RUN: mini-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK:      {{.*}}: expected [i64], got [i32]
// CHECK-NEXT: "func.return"(%{{.*}})
// CHECK:      // -----
func.func @wrong_type(%a: i32) -> i64 {
  func.return %a : i32
}

// -----

// CHECK:      verify-diagnostics.mlir:[[# @LINE + 4]]:
// CHECK:      Operation func.nothing is not registered
// CHECK:      // -----
func.func @unknown(%a: i32) {
  func.nothing %a : i32
}

// -----

// CHECK:      func.func @right
func.func @right() {
  func.return
}
