// What calls of kernels and their attributes must not be.
// RUN: mini-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: memref<4xf32>) {
  // expected-error @below {{the call of @k writes no buffer}}
  kernel.call @k ins(%x : memref<4xf32>)
  func.return
}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}

// -----

func.func @main(%x: memref<4xf32>) {
  // expected-error @below {{@main is not a kernel of this module}}
  kernel.call @main ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}

// -----

func.func @main(%x: memref<4xf32>) {
  // expected-error @below {{1 operand buffers for the 2 operands of @k}}
  kernel.call @k ins(%x : memref<4xf32>) outs(%x : memref<4xf32>)
  func.return
}
graph.kernel @k(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}

// -----

func.func @main(%x: memref<4xf32>, %y: memref<2x2xf32>) {
  // expected-error @below {{operand 1 of @k is tensor<4xf32>, and memref<2x2xf32> can't hold it}}
  kernel.call @k ins(%x, %y : memref<4xf32>, memref<2x2xf32>) outs(%x : memref<4xf32>)
  func.return
}
graph.kernel @k(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}

// -----

func.func @main(%x: memref<4xf32>, %y: memref<4xf64>) {
  // expected-error @below {{result 0 of @k is tensor<4xf32>, and memref<4xf64> can't hold it}}
  kernel.call @k ins(%x : memref<4xf32>) outs(%y : memref<4xf64>)
  func.return
}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @unknown {{vectors have 384 bits; it must be a power of two of at least 8}}
builtin.module attributes {kernel.target = #kernel.cpu<"", vector_bits = 384, registers = 32, l2 = 0, threads = 1>} {}

// -----

// expected-error @unknown {{there are 257 threads; it must be at most 256}}
builtin.module attributes {kernel.target = #kernel.cpu<"", vector_bits = 128, registers = 16, l2 = 0, threads = 257>} {}

// -----

// expected-error @unknown {{there are 0 threads; it must be at least 1}}
builtin.module attributes {kernel.target = #kernel.cpu<"", vector_bits = 128, registers = 16, l2 = 0, threads = 0>} {}

// -----

// Features have names of their own, not LLVM's.
// expected-error @unknown {{there is no feature avx2; there are fma, half, round}}
builtin.module attributes {kernel.target = #kernel.cpu<"" has ["avx2"], vector_bits = 128, registers = 16, l2 = 0, threads = 1>} {}

// -----

// expected-error @below {{expected [operand, result] pairs}}
builtin.module attributes {i = #kernel.interface<inplace = [[0, 0, 0]]>} {}

// -----

// expected-error @below {{unknown interface entry 'outplace'}}
builtin.module attributes {i = #kernel.interface<outplace = [[0, 0]]>} {}

// -----

// expected-error @below {{the interface refers to result 2; there are 1}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<inplace = [[0, 2]]>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{the interface refers to operand -1; there are 1}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<strided_operands = [0, -1]>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{an interface has a negative size of scratch}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<per_thread = -4>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{an interface has a negative number of pieces}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<pieces = -1>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{there is no packing 'magic'; there are panels, paired_panels, conv_panels, depthwise}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<packed = [0 : #kernel.packing<"magic", {nr = 8}>]>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{the packing 'panels' needs a number 'nr'}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<packed = [0 : #kernel.packing<"panels">]>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{the packing 'panels' has no 'groups'; it has nr, transposed}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<packed = [0 : #kernel.packing<"panels", {nr = 8, groups = 2}>]>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{the packing 'conv_panels' has groups = 0; it must be at least 1}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {interface = #kernel.interface<packed = [0 : #kernel.packing<"conv_panels", {nr = 8, groups = 0}>]>} {
  graph.yield %x : tensor<4xf32>
}

// -----

// expected-error @below {{there are 0 multiprocessors; it must be at least 1}}
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a", multiprocessors = 0>} {}

// -----

// expected-error @below {{there are 0 gflops; it must be at least 1}}
builtin.module attributes {kernel.target = #kernel.cpu<"generic", gflops = 0>} {}

// -----

// expected-error @below {{there is no limit 'l1'; there are vector_bits, registers, l2, threads, gflops, gbytes}}
builtin.module attributes {kernel.target = #kernel.cpu<"generic", l1 = 5>} {}

// -----

// expected-error @below {{shared is given twice}}
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a", shared = 5, shared = 6>} {}

// -----

func.func @main(%x: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{a window of i32 in a buffer of f32}}
  %w = kernel.window %x[%c0] : memref<4xf32> to memref<2xi32>
  func.return
}
