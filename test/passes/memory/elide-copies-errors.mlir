// RUN: mini-opt %s -p elide-copies --verify-diagnostics

graph.kernel @wrong(%a: tensor<4xf32>) -> tensor<2xf32> attributes {
  interface = #kernel.interface<moves = [0 to 0 sizes [2] from 3 [1] at 0 [1]]>
} {
  %r = graph.slice %a {starts = array<i64: 0>, stops = array<i64: 2>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<2xf32>
  graph.yield %r : tensor<2xf32>
}
func.func @main(%x: memref<4xf32> {graph.role = "input"}, %y: memref<2xf32> {graph.role = "output"}) {
  // expected-error @below {{kernel.call: @wrong has a move that lies outside of its buffers}}
  kernel.call @wrong ins(%x : memref<4xf32>) outs(%y : memref<2xf32>)
  func.return
}
