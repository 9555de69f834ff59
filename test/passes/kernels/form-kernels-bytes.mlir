// RUN: mini-opt %s -p form-kernels | filecheck %s

// What is added to a product is read as the bytes that it was rounded to, though they are made of another product.
// CHECK-LABEL: func.func @main
// CHECK:         %[[Q:.*]] = graph.call @matmul_quantize_0(%y, %{{.*}}) : {{.*}} -> tensor<2x4xui8>
// CHECK:         graph.call @matmul_add_0(%x, %{{.*}}, %[[Q]])
func.func @main(%x: tensor<2x8xui8>, %w: tensor<8x4xi8>, %y: tensor<2x8xui8>) -> tensor<2x4xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %0 = graph.matmul %x, %w : (tensor<2x8xui8>, tensor<8x4xi8>) -> tensor<2x4xi32>
  %1 = graph.cast %0 {to = f32} : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %2 = graph.matmul %y, %w : (tensor<2x8xui8>, tensor<8x4xi8>) -> tensor<2x4xi32>
  %3 = graph.cast %2 {to = f32} : (tensor<2x4xi32>) -> tensor<2x4xf32>
  %4 = graph.quantize %3, %s {to = ui8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xui8>
  %5 = graph.dequantize %4, %s : (tensor<2x4xui8>, tensor<f32>) -> tensor<2x4xf32>
  %6 = graph.add %1, %5 : tensor<2x4xf32>
  func.return %6 : tensor<2x4xf32>
}
