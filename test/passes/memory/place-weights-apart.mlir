// RUN: mini-opt %s -p place-weights{apart=1000} | filecheck %s

// Small weights come first, in the order in which they are read: "b" before "a". "c" has 1,000 bytes, and so pages of its
// own behind them, at a multiple of 64 KB.
// CHECK: kernel.weights = {{\[\[}}#graph.blob<"m.onnx", 40, 40, "b">, 0 : i64], [#graph.blob<"m.onnx", 0, 40, "a">, 64 : i64], [#graph.blob<"m.onnx", 80, 1000, "c">, 65536 : i64]]
// CHECK: %weights: memref<66536xi8> {graph.role = "weights"}
func.func @main(%y: memref<10xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) {
  %a = kernel.weight #graph.blob<"m.onnx", 0, 40, "a"> : memref<10xf32>
  %b = kernel.weight #graph.blob<"m.onnx", 40, 40, "b"> : memref<10xf32>
  %c = kernel.weight #graph.blob<"m.onnx", 80, 1000, "c"> : memref<250xf32>
  kernel.call @first ins(%c : memref<250xf32>) outs(%y : memref<10xf32>)
  kernel.call @same ins(%b : memref<10xf32>) outs(%y : memref<10xf32>)
  kernel.call @same ins(%a : memref<10xf32>) outs(%y : memref<10xf32>)
  func.return
}
graph.kernel @first(%x: tensor<250xf32>) -> tensor<10xf32> {
  %0 = graph.slice %x {starts = array<i64: 0>, stops = array<i64: 10>, steps = array<i64: 1>} : (tensor<250xf32>) -> tensor<10xf32>
  graph.yield %0 : tensor<10xf32>
}
graph.kernel @same(%x: tensor<10xf32>) -> tensor<10xf32> {
  %0 = graph.relu %x : tensor<10xf32>
  graph.yield %0 : tensor<10xf32>
}
