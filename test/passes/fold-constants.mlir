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
