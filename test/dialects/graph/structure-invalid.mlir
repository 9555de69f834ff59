// What the structure of a module must not be.
// RUN: mini-opt %s --split-input-file --verify-diagnostics

func.func @main() {
  // expected-error @below {{a blob of 12 bytes can't be a tensor<4xf32>}}
  %w = graph.weight #graph.blob<"f", 0, 12, ""> : tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error @below {{there is no kernel @missing}}
  %y = graph.call @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error @below {{there is no kernel @main}}
  %y = graph.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error @below {{the operands' types differ from those of kernel @k}}
  %y = graph.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
graph.kernel @k(%x: tensor<5xf32>) -> tensor<5xf32> {
  graph.yield %x : tensor<5xf32>
}

// -----

func.func @main(%x: tensor<5xf32>) {
  // expected-error @below {{the results' types differ from those of kernel @k}}
  %y = graph.call @k(%x) : (tensor<5xf32>) -> tensor<4xf32>
  func.return
}
graph.kernel @k(%x: tensor<5xf32>) -> tensor<5xf32> {
  graph.yield %x : tensor<5xf32>
}

// -----

// expected-error @below {{graph.yield gives other types than the kernel's results}}
graph.kernel @k(%x: tensor<5xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<5xf32>
}

// -----

func.func @main() {
  // expected-error @below {{expected a #graph.blob}}
  %w = graph.weight unit : tensor<4xf32>
  func.return
}

// -----

func.func @main() {
  // expected-error @below {{expected a dense<...> attribute}}
  %c = graph.constant unit : tensor<4xf32>
  func.return
}
