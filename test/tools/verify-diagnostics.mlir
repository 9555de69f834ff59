// Errors and warnings must be those that comments expect, on their lines; modules without one are printed.
// RUN: mini-opt %s --split-input-file --verify-diagnostics -p bufferize | filecheck %s

func.func @wrong_type(%a: i32) -> i64 {
  // expected-error @below {{expected [i64], got [i32]}}
  func.return %a : i32
}

// -----

func.func @unknown(%a: i32) {
  func.nothing %a : i32  // expected-error {{Operation func.nothing is not registered}}
}

// -----

func.func @broken(%a: i32) {
  // expected-error-re @unknown {{values? .* not defined: \[%b\]}}
  func.return %b : i32
}

// -----

graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.relu %x : tensor<8xf32> loc("early")
  // expected-error @above {{early (graph.relu): bufferize takes calls}}
  func.return %a : tensor<8xf32>
}

// -----

// CHECK:     func.func @main
// CHECK-NOT: func.func
func.func @main() {
  func.return
}
