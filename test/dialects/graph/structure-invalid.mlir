// What the structure of a module must not be.
// RUN: mini-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: a blob of 12 bytes can't be a tensor<4xf32>
func.func @main() {
  %w = graph.weight #graph.blob<"f", 0, 12, ""> : tensor<4xf32>
  func.return
}

// -----

// CHECK: there is no kernel @missing
func.func @main(%x: tensor<4xf32>) {
  %y = graph.call @missing(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: there is no kernel @main
func.func @main(%x: tensor<4xf32>) {
  %y = graph.call @main(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// CHECK: the operands' types differ from those of kernel @k
func.func @main(%x: tensor<4xf32>) {
  %y = graph.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}
graph.kernel @k(%x: tensor<5xf32>) -> tensor<5xf32> {
  graph.yield %x : tensor<5xf32>
}

// -----

// CHECK: the results' types differ from those of kernel @k
func.func @main(%x: tensor<5xf32>) {
  %y = graph.call @k(%x) : (tensor<5xf32>) -> tensor<4xf32>
  func.return
}
graph.kernel @k(%x: tensor<5xf32>) -> tensor<5xf32> {
  graph.yield %x : tensor<5xf32>
}

// -----

// CHECK: graph.yield gives other types than the kernel's results
graph.kernel @k(%x: tensor<5xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<5xf32>
}

// -----

// CHECK: expected a #graph.blob
func.func @main() {
  %w = graph.weight unit : tensor<4xf32>
  func.return
}

// -----

// CHECK: expected a dense<...> attribute
func.func @main() {
  %c = graph.constant unit : tensor<4xf32>
  func.return
}
