// RUN: mini-opt %s -p recompose-layer-norm,dce --split-input-file | filecheck %s

// CHECK-LABEL: @layer_norm
// CHECK:         graph.layer_norm %x, %{{.*}}, %{{.*}} {axis = 1 : i64, epsilon = 1.000000e-03
// CHECK-NEXT:    func.return
func.func @layer_norm(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %epsilon = graph.constant dense<0.001> : tensor<f64>
  %scale = graph.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf64>
  %bias = graph.constant dense<[4.0, 5.0, 6.0]> : tensor<3xf64>
  %0 = graph.reduce_mean %x {axes = array<i64: 1>, keepdims} : (tensor<2x3xf64>) -> tensor<2x1xf64>
  %1 = graph.sub %x, %0 : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x3xf64>
  %2 = graph.mul %1, %1 : tensor<2x3xf64>
  %3 = graph.reduce_mean %2 {axes = array<i64: 1>, keepdims} : (tensor<2x3xf64>) -> tensor<2x1xf64>
  %4 = graph.add %3, %epsilon : (tensor<2x1xf64>, tensor<f64>) -> tensor<2x1xf64>
  %5 = graph.sqrt %4 : tensor<2x1xf64>
  %6 = graph.div %1, %5 : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x3xf64>
  %7 = graph.mul %6, %scale : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  %8 = graph.add %7, %bias : (tensor<2x3xf64>, tensor<3xf64>) -> tensor<2x3xf64>
  func.return %8 : tensor<2x3xf64>
}

// -----

// Without a mean to take away it is rms_norm.
// CHECK-LABEL: @rms_norm
// CHECK:         graph.rms_norm %x, %{{.*}} {axis = 1 : i64
// CHECK-NEXT:    func.return
func.func @rms_norm(%x: tensor<2x3xf64>) -> tensor<2x3xf64> {
  %epsilon = graph.constant dense<0.001> : tensor<f64>
  %0 = graph.mul %x, %x : tensor<2x3xf64>
  %1 = graph.reduce_mean %0 {axes = array<i64: 1>, keepdims} : (tensor<2x3xf64>) -> tensor<2x1xf64>
  %2 = graph.add %1, %epsilon : (tensor<2x1xf64>, tensor<f64>) -> tensor<2x1xf64>
  %3 = graph.rsqrt %2 : tensor<2x1xf64>
  %4 = graph.mul %x, %3 : (tensor<2x3xf64>, tensor<2x1xf64>) -> tensor<2x3xf64>
  func.return %4 : tensor<2x3xf64>
}
