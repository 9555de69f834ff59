// RUN: mini-opt %s -p narrow-caches --split-input-file | filecheck %s
// RUN: mini-opt %s -p 'narrow-caches{type=int8}' --split-input-file | filecheck %s --check-prefix=BYTES

// What is joined to a cache is rounded before, and what is read of both widened; a cache that is computed with stays.
// CHECK-LABEL: @main
// CHECK-SAME:    %past: tensor<1x2x3x8xf16> {graph.name = "past", graph.cache = #graph.cache<"present", 1 : i64, tensor<1x2x3x8xf16>, tensor<1x2x5x8xf16>, tensor<1x2x9x8xf16>>}
// CHECK-SAME:    tensor<1x4xf32> {graph.name = "sum"
// CHECK-NEXT:    %[[N:.*]] = graph.cast %new {to = f16}
// CHECK-NEXT:    %[[K:.*]] = graph.concat %past, %[[N]] {{.*}} -> tensor<1x2x5x8xf16>
// CHECK-NEXT:    %[[W:.*]] = graph.cast %[[K]] {to = f32}
// CHECK-NEXT:    graph.attention %q, %[[W]], %[[W]]
// CHECK:         func.return %{{.*}}, %[[K]], %

// The scales of bytes are a cache of their own, an input and an output behind the others.
// BYTES-LABEL: @main
// BYTES-SAME:    %past: tensor<1x2x3x8xi8> {graph.name = "past"
// BYTES-SAME:    %0: tensor<1x2x3x1xf32> {graph.name = "past.scale", graph.cache = #graph.cache<"present.scale", 3 : i64, tensor<1x2x3x1xf32>, tensor<1x2x5x1xf32>, tensor<1x2x9x1xf32>>}
// BYTES-SAME:    tensor<1x2x5x1xf32> {graph.name = "present.scale"}
// BYTES:         %[[M:.*]] = graph.max
// BYTES-NEXT:    %[[B:.*]] = graph.quantize %new, %[[M]]
// BYTES-NEXT:    %[[K:.*]] = graph.concat %past, %[[B]] {{.*}} -> tensor<1x2x5x8xi8>
// BYTES-NEXT:    %[[A:.*]] = graph.concat %0, %[[M]] {{.*}} -> tensor<1x2x5x1xf32>
// BYTES-NEXT:    graph.dequantize %[[K]], %[[A]]
// BYTES:         func.return %{{.*}}, %[[K]], %{{.*}}, %[[A]]
func.func @main(%q: tensor<1x2x2x8xf32>, %past: tensor<1x2x3x8xf32> {graph.name = "past", graph.cache = #graph.cache<"present", 1 : i64, tensor<1x2x3x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x9x8xf32>>}, %new: tensor<1x2x2x8xf32>, %sum: tensor<1x4xf32> {graph.name = "sum", graph.cache = #graph.cache<"total", 2 : i64, tensor<1x4xf32>, tensor<1x4xf32>, tensor<1x4xf32>>}) -> (tensor<1x2x2x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4xf32>) {
  %k = graph.concat %past, %new {axis = 2 : i64} : (tensor<1x2x3x8xf32>, tensor<1x2x2x8xf32>) -> tensor<1x2x5x8xf32>
  %y = graph.attention %q, %k, %k {scale = 1.0 : f64} : (tensor<1x2x2x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x2x8xf32>
  %t = graph.add %sum, %sum : tensor<1x4xf32>
  func.return %y, %k, %t : tensor<1x2x2x8xf32>, tensor<1x2x5x8xf32>, tensor<1x4xf32>
}

// -----

// A cache of full capacity: what is written into it is rounded; of bytes the scales go to the same places.
// CHECK-LABEL: @main
// CHECK:         %[[U:.*]] = graph.cast %new {to = f16}
// CHECK-NEXT:    graph.scatter_nd %{{.*}}, %at, %[[U]] {{.*}} -> tensor<1x2x9x8xf16>
// BYTES-LABEL: @main
// BYTES:         graph.scatter_nd %{{.*}}, %at, %{{.*}} -> tensor<1x2x9x8xi8>
// BYTES-NEXT:    graph.scatter_nd %{{.*}}, %at, %{{.*}} -> tensor<1x2x9x1xf32>
func.func @main(%past: tensor<1x2x9x8xf32> {graph.name = "past", graph.cache = #graph.cache<"present", 0 : i64, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>>}, %at: tensor<1x2x1x3xi64>, %new: tensor<1x2x1x8xf32>) -> tensor<1x2x9x8xf32> {
  %k = graph.scatter_nd %past, %at, %new {reduction = "none"} : (tensor<1x2x9x8xf32>, tensor<1x2x1x3xi64>, tensor<1x2x1x8xf32>) -> tensor<1x2x9x8xf32>
  func.return %k : tensor<1x2x9x8xf32>
}
