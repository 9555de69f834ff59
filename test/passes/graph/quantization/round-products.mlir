// RUN: mini-opt %s -p 'round-products{to=bf16},dce' --split-input-file | filecheck %s
// RUN: mini-opt %s -p round-products,dce --split-input-file | filecheck %s --check-prefix=NONE
// NONE-LABEL: @residual
// NONE-NOT:   bf16
// NONE:       func.return

// A value is rounded once for all products, where it is made; what else reads it has the exact one.
// CHECK-LABEL: @residual
// CHECK-NEXT:    %[[W:.*]] = graph.constant dense<1.500000e+00> : tensor<16x4xbf16>
// CHECK-NEXT:    %[[V:.*]] = graph.constant dense<2.500000e+00> : tensor<4x16xbf16>
// CHECK-NEXT:    %[[R:.*]] = graph.relu %x
// CHECK-NEXT:    %[[N:.*]] = graph.cast %[[R]] {to = bf16, flush}
// CHECK-NEXT:    %[[A:.*]] = graph.matmul %[[N]], %[[W]] {sums = f32}
// CHECK-NEXT:    %[[B:.*]] = graph.matmul %[[N]], %[[V]] {transpose_b, sums = f32}
// CHECK-NEXT:    %[[C:.*]] = graph.exp %[[R]]
// CHECK-NEXT:    func.return %[[A]], %[[B]], %[[C]]
builtin.module attributes {kernel.target = #kernel.cpu<"znver5" has ["vdpbf16ps"]>} {
  func.func @residual(%x: tensor<5x16xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x16xf32>) {
    %w = graph.constant dense<1.5> : tensor<16x4xf32>
    %v = graph.constant dense<2.5> : tensor<4x16xf32>
    %0 = graph.relu %x : (tensor<5x16xf32>) -> tensor<5x16xf32>
    %1 = graph.matmul %0, %w : (tensor<5x16xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
    %2 = graph.matmul %0, %v {transpose_b} : (tensor<5x16xf32>, tensor<4x16xf32>) -> tensor<5x4xf32>
    %3 = graph.exp %0 : (tensor<5x16xf32>) -> tensor<5x16xf32>
    func.return %1, %2, %3 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x16xf32>
  }
}

// -----

// Reshapes and transposes move what is rounded already. Both operands of a product may be computed; ARM has bf16, too.
// CHECK-LABEL: @moved
// CHECK-NEXT:    %[[Y:.*]] = graph.cast %y {to = bf16, flush}
// CHECK-NEXT:    %[[X:.*]] = graph.cast %x {to = bf16, flush}
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[X]] {permutation = array<i64: 1, 0>}
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[T]] {shape = array<i64: 2, 20>}
// CHECK-NEXT:    graph.matmul %[[R]], %[[Y]] {sums = f32}
builtin.module attributes {kernel.target = #kernel.cpu<"aarch64-linux-gnu:neoverse-v1" has ["bfdot"]>} {
  func.func @moved(%x: tensor<10x4xf32>, %y: tensor<20x3xf32>) -> tensor<2x3xf32> {
    %0 = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<10x4xf32>) -> tensor<4x10xf32>
    %1 = graph.reshape %0 {shape = array<i64: 2, 20>} : (tensor<4x10xf32>) -> tensor<2x20xf32>
    %2 = graph.matmul %1, %y : (tensor<2x20xf32>, tensor<20x3xf32>) -> tensor<2x3xf32>
    func.return %2 : tensor<2x3xf32>
  }
}

// -----

// An attention's kernel stores its result transposed: that is rounded behind it.
// CHECK-LABEL: @attention
// CHECK:         %[[A:.*]] = graph.attention
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[A]]
// CHECK-NEXT:    %[[N:.*]] = graph.cast %[[T]] {to = bf16, flush}
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[N]]
// CHECK-NEXT:    graph.matmul %[[R]], %{{.*}} {sums = f32}
builtin.module attributes {kernel.target = #kernel.cpu<"znver5" has ["vdpbf16ps"]>} {
  func.func @attention(%q: tensor<1x2x5x8xf32>) -> tensor<5x4xf32> {
    %w = graph.constant dense<1.5> : tensor<16x4xf32>
    %0 = graph.attention %q, %q, %q {scale = 0.5 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0>}
      : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
    %1 = graph.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x5x8xf32>) -> tensor<1x5x2x8xf32>
    %2 = graph.reshape %1 {shape = array<i64: 5, 16>} : (tensor<1x5x2x8xf32>) -> tensor<5x16xf32>
    %3 = graph.matmul %2, %w : (tensor<5x16xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
    func.return %3 : tensor<5x4xf32>
  }
}

// -----

// The bias and the result of a convolution are f32. Values of bf16 that are widened are read as they are.
// CHECK-LABEL: @convolution
// CHECK-NEXT:    %[[X:.*]] = graph.cast %x {to = bf16, flush}
// CHECK-NEXT:    graph.conv %[[X]], %w, %b {{.*}}sums = f32{{.*}} : (tensor<1x4x4x16xbf16>, tensor<5x16x1x1xbf16>, tensor<5xf32>) -> tensor<1x4x4x5xf32>
builtin.module attributes {kernel.target = #kernel.cpu<"znver5" has ["vdpbf16ps"]>} {
  func.func @convolution(%x: tensor<1x4x4x16xf32>, %w: tensor<5x16x1x1xbf16>, %b: tensor<5xf32>) -> tensor<1x4x4x5xf32> {
    %0 = graph.cast %w {to = f32} : (tensor<5x16x1x1xbf16>) -> tensor<5x16x1x1xf32>
    %1 = graph.conv %x, %0, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"}
      : (tensor<1x4x4x16xf32>, tensor<5x16x1x1xf32>, tensor<5xf32>) -> tensor<1x4x4x5xf32>
    func.return %1 : tensor<1x4x4x5xf32>
  }
}

// -----

// Short sums, few channels of a group, channels first, transposed rows, subnormal weights and other types stay.
// CHECK-LABEL: @kept
// CHECK-NOT:     bf16
// CHECK:         func.return
builtin.module attributes {kernel.target = #kernel.cpu<"znver5" has ["vdpbf16ps"]>} {
  func.func @kept(%x: tensor<5x15xf32>, %t: tensor<16x5xf32>, %p: tensor<1x4x4x16xf32>, %d: tensor<5x16xf64>)
      -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<1x4x4x16xf32>, tensor<1x4x4x1xf32>, tensor<5x4xf32>, tensor<5x4xf64>) {
    %w = graph.constant dense<1.5> : tensor<15x4xf32>
    %0 = graph.matmul %x, %w : (tensor<5x15xf32>, tensor<15x4xf32>) -> tensor<5x4xf32>
    %v = graph.constant dense<1.5> : tensor<16x4xf32>
    %1 = graph.matmul %t, %v {transpose_a} : (tensor<16x5xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
    %f = graph.constant dense<1.5> : tensor<16x4x2x2xf32>
    %2 = graph.conv %p, %f {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 1, 1>, dilations = array<i64: 1, 1>, groups = 4 : i64, layout = "NHWC", operandSegmentSizes = array<i32: 1, 1, 0>}
      : (tensor<1x4x4x16xf32>, tensor<16x4x2x2xf32>) -> tensor<1x4x4x16xf32>
    %g = graph.constant dense<1.5> : tensor<4x4x2x2xf32>
    %3 = graph.conv %p, %g {strides = array<i64: 1, 16>, pads = array<i64: 0, 0, 1, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW", operandSegmentSizes = array<i32: 1, 1, 0>}
      : (tensor<1x4x4x16xf32>, tensor<4x4x2x2xf32>) -> tensor<1x4x4x1xf32>
    %s = graph.constant dense<1.0e-40> : tensor<16x4xf32>
    %r = graph.reshape %t {shape = array<i64: 5, 16>} : (tensor<16x5xf32>) -> tensor<5x16xf32>
    %4 = graph.matmul %r, %s : (tensor<5x16xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
    %e = graph.constant dense<1.5> : tensor<16x4xf64>
    %5 = graph.matmul %d, %e : (tensor<5x16xf64>, tensor<16x4xf64>) -> tensor<5x4xf64>
    func.return %0, %1, %2, %3, %4, %5 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<1x4x4x16xf32>, tensor<1x4x4x1xf32>, tensor<5x4xf32>, tensor<5x4xf64>
  }
}

// -----

// A GPU's kernels round what they load.
// CHECK-LABEL: @gpu
// CHECK-NOT:     bf16
// CHECK:         func.return
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @gpu(%x: tensor<5x16xf32>, %y: tensor<16x4xf32>) -> tensor<5x4xf32> {
    %0 = graph.matmul %x, %y : (tensor<5x16xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
    func.return %0 : tensor<5x4xf32>
  }
}
