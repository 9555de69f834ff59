// RUN: not mini-opt %s -p advise-weights{budget=262144} 2>&1 | filecheck %s

// CHECK: fc (kernel.call): its kernel @five needs 327680 bytes of weights at once, in whole blocks of 65536; weights_memory allows 262144
func.func @main(%y: memref<4xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<327680xi8> {graph.role = "weights"}) {
  %c0 = arith.constant 0 : index
  %a = memref.view %weights[%c0][] : memref<327680xi8> to memref<81920xf32>
  kernel.call @five ins(%a : memref<81920xf32>) outs(%y : memref<4xf32>) loc("fc")
  func.return
}
graph.kernel @five(%w: tensor<81920xf32>) -> tensor<4xf32> {
  %0 = graph.slice %w {starts = array<i64: 0>, stops = array<i64: 4>, steps = array<i64: 1>} : (tensor<81920xf32>) -> tensor<4xf32>
  graph.yield %0 : tensor<4xf32>
}
