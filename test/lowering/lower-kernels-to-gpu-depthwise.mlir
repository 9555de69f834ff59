// A depthwise convolution: a thread has four channels of some pixels, the filter lies tap by tap.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK: gpu.func @conv_0
// Pixels outside of the picture are zeros; one comparison asks for both sides.
// CHECK: scf.for
// CHECK: arith.cmpi ult
// CHECK: vector.load {{.*}}, vector<4xf32>
// CHECK: scf.if
// CHECK: vector.load {{.*}}, vector<4xf32>
// CHECK: vector.fma
// CHECK: {unroll}
// CHECK: vector.store {{.*}}, vector<4xf32>
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @main(%x: tensor<1x8x8x32xf32>, %w: tensor<32x1x3x3xf32>) -> tensor<1x8x8x32xf32> {
    %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 32 : i64, layout = "NHWC"} : (tensor<1x8x8x32xf32>, tensor<32x1x3x3xf32>) -> tensor<1x8x8x32xf32>
    func.return %0 : tensor<1x8x8x32xf32>
  }
}
