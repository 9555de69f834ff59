// What is wrong with a size, or with the symbols that sizes hang on, is told where it stands.
// RUN: mini-opt %s --split-input-file --verify-diagnostics
// RUN: not mini-opt %s 2>&1 | filecheck %s

// CHECK:      mini-opt: error: {{.*}}sizes-errors.mlir:11:46
// CHECK-NEXT:   func.func private @unknown(tensor<(batch * tokens)x8xf32>)
// CHECK-NEXT: {{^ {45}\^{6}$}}
// CHECK-NEXT: tokens is no symbol of the module's #kernel.symbols
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8]>} {
  // expected-error @below {{tokens is no symbol of the module's #kernel.symbols}}
  func.func private @unknown(tensor<(batch * tokens)x8xf32>)
}

// -----

builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8]>} {
  // expected-error @below {{a size is divided by a number that is not positive}}
  func.func private @divided(tensor<(batch floordiv 0)x8xf32>)
}

// -----

// This divisor is 0 with two entries.
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8]>} {
  // expected-error @below {{a size is divided by a number that is not positive}}
  func.func private @divided(tensor<(16 floordiv (batch - 2))x8xf32>)
}

// -----

// expected-error @below {{two symbols are named batch}}
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim batch = 2 in [1, 4]>} {
}

// -----

// expected-error @below {{width is 30: it must be a multiple of 8 in [8, 64]}}
builtin.module attributes {kernel.symbols = #kernel.symbols<dim width = 30 in [8, 64] by 8>} {
}

// -----

// Symbols come before whatever is made of them.
// expected-error @below {{batch is no symbol of the module's #kernel.symbols}}
builtin.module attributes {kernel.guards = #kernel.guards<(batch - 1) positive>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8]>} {
}

// -----

// Two sizes are equal only if they are so at all shapes.
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8]>} {
  func.func @main(%x: tensor<(batch)x8xf32>) -> tensor<2x8xf32> {
    // expected-error @below {{result is tensor<2x8xf32>, but the op makes tensor<(batch)x8xf32>}}
    %r = graph.relu %x : (tensor<(batch)x8xf32>) -> tensor<2x8xf32>
    func.return %r : tensor<2x8xf32>
  }
}
