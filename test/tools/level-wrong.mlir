// What a module states of its level, main must agree with: a pass, and whoever compiles it, would go wrong by it.
// RUN: not mini-opt %s -p verify-arena 2>&1 | filecheck %s
// CHECK: mini-opt: error: the module states the arena level (mini_infer.level), where @main takes no tensors
builtin.module attributes {mini_infer.level = "arena"} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
}
