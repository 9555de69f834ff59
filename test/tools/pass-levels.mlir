// A pass on another level than its own says which one it needs.
// RUN: not mini-opt %s -p form-kernels,channels-last 2>&1 | filecheck %s --check-prefix=GRAPH
// RUN: not mini-opt %s -p plan-arena 2>&1 | filecheck %s --check-prefix=BUFFERS
// RUN: not mini-opt %s -p form-kernels,choose-schedule,bufferize,insert-barriers 2>&1 | filecheck %s --check-prefix=ARENA
// RUN: mini-opt %s --to arena -o %t.mlir
// RUN: not mini-opt %t.mlir -p expand-math 2>&1 | filecheck %s --check-prefix=LOOPS
// RUN: not mini-opt %t.mlir -p choose-schedule 2>&1 | filecheck %s --check-prefix=KERNELS
// RUN: mini-opt %s --to llvm -o %t.mlir
// RUN: not mini-opt %t.mlir -p fold-constants 2>&1 | filecheck %s --check-prefix=LLVM

// GRAPH:   mini-opt: error: channels-last works at the graph level; the module is at the kernels level
// BUFFERS: mini-opt: error: plan-arena works at the buffers level; the module is at the graph level
// ARENA:   mini-opt: error: insert-barriers works at the arena level; the module is at the buffers level
// LOOPS:   mini-opt: error: expand-math works at the loops level; the module is at the arena level
// KERNELS: mini-opt: error: choose-schedule works at the kernels level; the module is at the arena level
// LLVM:    mini-opt: error: fold-constants works at the graph level; the module is at the llvm level
builtin.module attributes {mini_infer.level = "graph"} {
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}) -> (tensor<8x4xf32> {graph.name = "y"}) {
  %a = graph.exp %x : tensor<4x8xf32>
  %b = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %c = graph.softmax %b {axis = 1 : i64} : tensor<8x4xf32>
  func.return %c : tensor<8x4xf32>
}
}
