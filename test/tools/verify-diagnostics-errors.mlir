// What was expected and did not come, and what came unexpected, is told with its line; nothing is printed then.
// RUN: not mini-opt %s --split-input-file --verify-diagnostics 2>&1 | filecheck %s

// CHECK:      errors.mlir:[[# @LINE + 3]]: expected error "got [i16]" was not produced
// CHECK-NEXT: errors.mlir:[[# @LINE + 3]]: unexpected error: {{.*}} expected [i64], got [i32]
func.func @other_message(%a: i32) -> i64 {
  // expected-error @below {{got [i16]}}
  func.return %a : i32
}

// -----

// CHECK:      errors.mlir:[[# @LINE + 3]]: expected error "got [i32]" was not produced
// CHECK-NEXT: errors.mlir:[[# @LINE + 3]]: unexpected error: {{.*}} expected [i64], got [i32]
func.func @other_line(%a: i32) -> i64 {
  // expected-error {{got [i32]}}
  func.return %a : i32
}

// -----

// CHECK:      errors.mlir:[[# @LINE + 2]]: expected warning "it is late" was not produced
func.func @nothing_wrong() {
  // expected-warning @unknown {{it is late}}
  func.return
}

// -----

// CHECK:      errors.mlir:[[# @LINE + 3]]: expected error "got [i32]" was not produced
// CHECK-NOT:  unexpected
func.func @too_few(%a: i32) -> i64 {
  // expected-error @below 2 {{got [i32]}}
  func.return %a : i32
}

// -----

// CHECK:      errors.mlir:[[# @LINE + 3]]: what is expected can't be read
// CHECK-NEXT: errors.mlir:[[# @LINE + 3]]: unexpected error:
func.func @malformed(%a: i32) -> i64 {
  // expected-error below {{got [i32]}}
  func.return %a : i32
}

// -----

func.func @right() {
  func.return
}
// CHECK-NOT: func.func @right
