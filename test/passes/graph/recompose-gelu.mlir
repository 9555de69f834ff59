// RUN: mini-opt %s -p recompose-gelu,dce --split-input-file | filecheck %s

// CHECK-LABEL: @erf
// CHECK-NEXT:    graph.gelu %x {approximate = "none"}
// CHECK-NEXT:    func.return
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %root = graph.constant dense<1.4142135> : tensor<f32>
  %0 = graph.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = graph.erf %0 : tensor<4xf32>
  %2 = graph.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.mul %x, %2 : tensor<4xf32>
  %4 = graph.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}

// -----

// The erf of another multiple of x is another function.
// CHECK-LABEL: @no_gelu
// CHECK:         graph.erf
func.func @no_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = graph.constant dense<0.5> : tensor<f32>
  %one = graph.constant dense<1.0> : tensor<f32>
  %1 = graph.erf %x : tensor<4xf32>
  %2 = graph.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = graph.mul %x, %2 : tensor<4xf32>
  %4 = graph.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  func.return %4 : tensor<4xf32>
}
