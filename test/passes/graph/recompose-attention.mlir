// RUN: mini-opt %s -p recompose-attention,dce --split-input-file | filecheck %s

// The scale is that of q times that of k; the mask keeps exactly the past. Nothing replaces the NaN of empty rows.
// CHECK-LABEL: @causal
// CHECK:         graph.attention %q, %k, %v {scale = 2.500000e-01 : f64, causal, nan_rows}
// CHECK-NEXT:    func.return
func.func @causal(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x2x4xf32>, %v: tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %mask = graph.constant dense<"0x00000000000080FF0000000000000000"> : tensor<2x2xf32>
  %0 = graph.mul %q, %half : (tensor<1x2x2x4xf32>, tensor<f32>) -> tensor<1x2x2x4xf32>
  %1 = graph.mul %k, %half : (tensor<1x2x2x4xf32>, tensor<f32>) -> tensor<1x2x2x4xf32>
  %2 = graph.matmul %0, %1 {transpose_b} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x2xf32>
  %3 = graph.add %2, %mask : (tensor<1x2x2x2xf32>, tensor<2x2xf32>) -> tensor<1x2x2x2xf32>
  %4 = graph.softmax %3 {axis = 3 : i64} : tensor<1x2x2x2xf32>
  %5 = graph.matmul %4, %v : (tensor<1x2x2x2xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  func.return %5 : tensor<1x2x2x4xf32>
}

// -----

// A condition chooses the scores, and rows without any give zeros.
// CHECK-LABEL: @kept
// CHECK:         graph.attention %q, %k, %v, %keep {scale = 1.000000e+00 : f64}
// CHECK-NEXT:    func.return
func.func @kept(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x2x4xf32>, %v: tensor<1x2x2x4xf32>, %keep: tensor<2x2xi1>) -> tensor<1x2x2x4xf32> {
  %never = graph.constant dense<"0x000080FF"> : tensor<f32>
  %zero = graph.constant dense<0.0> : tensor<f32>
  %0 = graph.matmul %q, %k {transpose_b} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x2xf32>
  %1 = graph.where %keep, %0, %never : (tensor<2x2xi1>, tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xf32>
  %2 = graph.softmax %1 {axis = 3 : i64} : tensor<1x2x2x2xf32>
  %3 = graph.is_nan %2 : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xi1>
  %4 = graph.where %3, %zero, %2 : (tensor<1x2x2x2xi1>, tensor<f32>, tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %5 = graph.matmul %4, %v : (tensor<1x2x2x2xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  func.return %5 : tensor<1x2x2x4xf32>
}

// -----

// The weights are a result, too.
// CHECK-LABEL: @weights
// CHECK:         graph.softmax
func.func @weights(%q: tensor<1x2x2x4xf32>, %k: tensor<1x2x2x4xf32>, %v: tensor<1x2x2x4xf32>) -> (tensor<1x2x2x4xf32>, tensor<1x2x2x2xf32>) {
  %0 = graph.matmul %q, %k {transpose_b} : (tensor<1x2x2x4xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x2xf32>
  %1 = graph.softmax %0 {axis = 3 : i64} : tensor<1x2x2x2xf32>
  %2 = graph.matmul %1, %v : (tensor<1x2x2x2xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x4xf32>
  func.return %2, %1 : tensor<1x2x2x4xf32>, tensor<1x2x2x2xf32>
}
