// Both operands of each sum are dead behind it. The older one gives its bytes, as the chain of results in place then
// reaches from %a to the output: %a and %c lie in the caller's memory, not in the arena.
// RUN: mini-opt %s -p mark-inplace | filecheck %s
// RUN: mini-opt %s -p mark-inplace,bufferize,plan-arena,verify-arena | filecheck %s --check-prefix=ARENA

graph.kernel @rows(%x: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.softmax %x {axis = 1 : i64} : tensor<2x64xf32>
  graph.yield %r : tensor<2x64xf32>
}
graph.kernel @add(%a: tensor<2x64xf32>, %b: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0], [1, 0]]>} {
  %r = graph.add %a, %b : tensor<2x64xf32>
  graph.yield %r : tensor<2x64xf32>
}

// ARENA: arena_bytes = 512
func.func @main(%x: tensor<2x64xf32>) -> tensor<2x64xf32> {
  %a = graph.call @rows(%x) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %b = graph.call @rows(%a) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  // CHECK: %c = graph.call @add(%a, %b) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
  %c = graph.call @add(%a, %b) : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  %d = graph.call @rows(%c) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  // CHECK: %e = graph.call @add(%c, %d) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
  %e = graph.call @add(%c, %d) : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x64xf32>
  func.return %e : tensor<2x64xf32>
}
