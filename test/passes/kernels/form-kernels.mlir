// RUN: mini-opt %s -p form-kernels | filecheck %s
// RUN: mini-opt %s -p 'form-kernels{fuse=false}' | filecheck %s --check-prefix=ALONE

func.func @main(%x: tensor<1x8x8x16xf32> {graph.name = "x"}) -> (tensor<1x64x16xf32> {graph.name = "y"}) {
  %w = graph.weight #graph.blob<"", 0, 9216, "a"> : tensor<16x16x3x3xf32>
  %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x8x8x16xf32>, tensor<16x16x3x3xf32>) -> tensor<1x8x8x16xf32>
  %s = graph.sigmoid %c : tensor<1x8x8x16xf32>
  %m = graph.mul %c, %s : tensor<1x8x8x16xf32>
  %a = graph.add %m, %x : tensor<1x8x8x16xf32>
  %e = graph.exp %a : tensor<1x8x8x16xf32>
  %t = graph.tanh %a : tensor<1x8x8x16xf32>
  %z = graph.sub %e, %t : tensor<1x8x8x16xf32>
  %r = graph.reshape %z {shape = array<i64: 1, 64, 16>} : (tensor<1x8x8x16xf32>) -> tensor<1x64x16xf32>
  func.return %r : tensor<1x64x16xf32>
}

// The convolution takes every elementwise op behind it, through two diamonds, and the weight is known to be one.
// CHECK-LABEL: func.func @main
// CHECK:         %[[W:.*]] = graph.weight
// CHECK-NEXT:    %[[K:.*]] = graph.call @conv_sub_0(%{{.*}}, %[[W]])
// A reshape only renames bytes and stays.
// CHECK-NEXT:    graph.reshape %[[K]]
// CHECK:       graph.kernel @conv_sub_0
// CHECK-SAME:    form = #kernel.form<"contraction">
// CHECK-SAME:    constant_operands = array<i64: 1>
// CHECK:         graph.conv
// CHECK:         graph.sub
// CHECK-NEXT:    graph.yield

// Unfused, each op has its own kernel.
// ALONE-LABEL: func.func @main
// ALONE:         graph.call @conv_0
// ALONE-NEXT:    graph.call @sigmoid_0
// ALONE-NEXT:    graph.call @mul_0
// ALONE-NEXT:    graph.call @add_0
// ALONE-NEXT:    graph.call @exp_0
// ALONE-NEXT:    graph.call @tanh_0
// ALONE-NEXT:    graph.call @sub_0
