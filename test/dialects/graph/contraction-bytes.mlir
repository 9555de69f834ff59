// RUN: mini-opt %s | filecheck %s

// Operands of 8 bits may differ in their sign; sums are i32, and so is a convolution's bias.
// CHECK: %{{.*}} = graph.matmul %{{.*}}, %{{.*}} : (tensor<2x3xui8>, tensor<3x4xi8>) -> tensor<2x4xi32>
// CHECK: %{{.*}} = graph.conv {{.*}}pad_value = 128 : i64{{.*}} : (tensor<1x2x5x5xui8>, tensor<3x2x3x3xi8>, tensor<3xi32>) -> tensor<1x3x5x5xi32>
func.func @main(%a: tensor<2x3xui8>, %b: tensor<3x4xi8>, %x: tensor<1x2x5x5xui8>, %w: tensor<3x2x3x3xi8>,
                %c: tensor<3xi32>) -> (tensor<2x4xi32>, tensor<1x3x5x5xi32>) {
  %0 = graph.matmul %a, %b : (tensor<2x3xui8>, tensor<3x4xi8>) -> tensor<2x4xi32>
  %1 = graph.conv %x, %w, %c {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>,
    groups = 1 : i64, layout = "NCHW", pad_value = 128 : i64}
    : (tensor<1x2x5x5xui8>, tensor<3x2x3x3xi8>, tensor<3xi32>) -> tensor<1x3x5x5xi32>
  func.return %0, %1 : tensor<2x4xi32>, tensor<1x3x5x5xi32>
}
