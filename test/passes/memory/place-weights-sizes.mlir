// RUN: mini-opt %s -p place-weights | filecheck %s

// Weights have places that are numbers, beside buffers of which each is a symbol; their segment comes behind the sizes.
// CHECK: kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0
// CHECK-SAME: kernel.weights = {{\[\[}}#graph.blob<"m.onnx", 4096, 1000, "d1">, 0 : i64], [#graph.blob<"m.onnx", 8192, 32, "d2">, 1024 : i64]]
// CHECK: %sizes: memref<2xi64> {graph.role = "sizes"}, %weights: memref<1056xi8> {graph.role = "weights"})
// CHECK-DAG:  %[[AT:.*]] = arith.constant 1024 : index
// CHECK-DAG:  %[[AT_A:.*]] = arith.constant ("buffer a") : index
// CHECK:      memref.view %weights[%[[AT]]][] : memref<1056xi8> to memref<8xf32>
// CHECK-NEXT: %[[A:.*]] = memref.view %arena[%[[AT_A]]][] {{.*}} to memref<(tokens)x8xf32>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0 in [0, 65536] live [0, 1]>} {
  func.func @main(%arena: memref<512xi8> {graph.role = "arena"}, %sizes: memref<2xi64> {graph.role = "sizes"}) {
    %at = arith.constant ("buffer a") : index
    %w = kernel.weight #graph.blob<"m.onnx", 4096, 1000, "d1"> : memref<250xf32>
    %v = kernel.weight #graph.blob<"m.onnx", 8192, 32, "d2"> : memref<8xf32>
    %a = memref.view %arena[%at][] {buffer = 0, birth = 0, death = 1} : memref<512xi8> to memref<(tokens)x8xf32>
    kernel.call @scale ins(%v : memref<8xf32>) outs(%a : memref<(tokens)x8xf32>)
    func.return
  }
  graph.kernel @scale(%v: tensor<8xf32>) -> tensor<(tokens)x8xf32> {
    %r = graph.broadcast_to %v {shape = array<i64: (tokens), 8>} : (tensor<8xf32>) -> tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
}
