// RUN: mini-opt %s -p place-weights | filecheck %s

// Blobs "d1" (1000 bytes), "d2" (40) and "d1" again: the first takes [0, 1000), the next multiple of 64 is 1024.
// CHECK: builtin.module attributes {kernel.weights = {{\[\[}}#graph.blob<"m.onnx", 4096, 1000, "d1">, 0 : i64], [#graph.blob<"m.onnx", 8192, 40, "d2">, 1024 : i64]]}
// CHECK: func.func @main(%arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<1064xi8> {graph.role = "weights"})
func.func @main(%arena: memref<0xi8> {graph.role = "arena"}) {
  // CHECK-NEXT: %[[NEXT:.*]] = arith.constant 1024 : index
  // CHECK-NEXT: %[[FIRST:.*]] = arith.constant 0 : index
  // CHECK-NEXT: memref.view %weights[%[[FIRST]]][] : memref<1064xi8> to memref<250xf32>
  // CHECK-NEXT: memref.view %weights[%[[NEXT]]][] : memref<1064xi8> to memref<10xf32>
  // Equal bytes share a place, whatever they are read as.
  // CHECK-NEXT: memref.view %weights[%[[FIRST]]][] : memref<1064xi8> to memref<10x25xf32>
  %w = kernel.weight #graph.blob<"m.onnx", 4096, 1000, "d1"> : memref<250xf32>
  %v = kernel.weight #graph.blob<"m.onnx", 8192, 40, "d2"> : memref<10xf32>
  %u = kernel.weight #graph.blob<"n.onnx", 0, 1000, "d1"> : memref<10x25xf32>
  func.return
}
