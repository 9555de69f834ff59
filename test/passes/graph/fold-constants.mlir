// RUN: mini-opt %s -p fold-constants,dce --split-input-file | filecheck %s

// Small results stand in the IR.
// CHECK-LABEL: @small
// CHECK-NEXT:    %[[C:.*]] = graph.constant dense<{{\[}}3.000000e+00, 4.000000e+00]>
// CHECK-NEXT:    graph.add %{{.*}}, %[[C]]
func.func @small(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %b = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.add %a, %b : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
  %1 = graph.add %x, %0 : tensor<2xf32>
  func.return %1 : tensor<2xf32>
}

// -----

// A reshaped weight is the same blob: its bytes, which are not there at all, are not read.
// CHECK-LABEL: @reshaped
// CHECK-NEXT:    graph.weight #graph.blob<"", 0, 4096, "d"> : tensor<32x32xf32>
// CHECK-NEXT:    graph.matmul
func.func @reshaped(%x: tensor<2x32xf32>) -> tensor<2x32xf32> {
  %w = graph.weight #graph.blob<"", 0, 4096, "d"> : tensor<4x8x32xf32>
  %0 = graph.reshape %w {shape = array<i64: 32, 32>} : (tensor<4x8x32xf32>) -> tensor<32x32xf32>
  %1 = graph.matmul %x, %0 : (tensor<2x32xf32>, tensor<32x32xf32>) -> tensor<2x32xf32>
  func.return %1 : tensor<2x32xf32>
}

// -----

// 4 bytes are not folded into 4096.
// CHECK-LABEL: @grows
// CHECK:         graph.broadcast_to
func.func @grows() -> tensor<1024xf32> {
  %c = graph.constant dense<2.0> : tensor<f32>
  %0 = graph.broadcast_to %c {shape = array<i64: 1024>} : (tensor<f32>) -> tensor<1024xf32>
  func.return %0 : tensor<1024xf32>
}

// -----

// A weight joined with itself is twice the bytes that are there, which are not read.
// CHECK-LABEL: @doubled
// CHECK:         graph.concat
func.func @doubled() -> tensor<2048xf32> {
  %w = graph.weight #graph.blob<"", 0, 4096, "d"> : tensor<1024xf32>
  %0 = graph.concat %w, %w {axis = 0 : i64} : (tensor<1024xf32>, tensor<1024xf32>) -> tensor<2048xf32>
  func.return %0 : tensor<2048xf32>
}

// -----

// What a window covers may be far more than what it makes: pools stay.
// CHECK-LABEL: @pooled
// CHECK:         graph.max_pool
func.func @pooled() -> tensor<1x1x1xf32> {
  %c = graph.constant dense<2.0> : tensor<1x1x4xf32>
  %0 = graph.max_pool %c {kernel = array<i64: 4>, strides = array<i64: 1>, dilations = array<i64: 1>, pads = array<i64: 0, 0>, layout = "NCHW"} : (tensor<1x1x4xf32>) -> tensor<1x1x1xf32>
  func.return %0 : tensor<1x1x1xf32>
}

// -----

// 2^31 products take too long to be made here; 2^12 don't.
// CHECK-LABEL: @products
// CHECK-COUNT-1: graph.matmul
// CHECK-NOT:     graph.matmul
func.func @products() -> (tensor<1024x2048xf32>, tensor<16x16xf32>) {
  %a = graph.weight #graph.blob<"", 0, 4194304, "d"> : tensor<1024x1024xf32>
  %b = graph.weight #graph.blob<"", 0, 8388608, "e"> : tensor<1024x2048xf32>
  %c = graph.constant dense<1.0> : tensor<16x16xf32>
  %0 = graph.matmul %a, %b : (tensor<1024x1024xf32>, tensor<1024x2048xf32>) -> tensor<1024x2048xf32>
  %1 = graph.matmul %c, %c : tensor<16x16xf32>
  func.return %0, %1 : tensor<1024x2048xf32>, tensor<16x16xf32>
}
