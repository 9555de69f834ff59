// RUN: mini-opt %s -p form-kernels | filecheck %s
// RUN: mini-opt %s -p 'form-kernels{forbid=bands}' | filecheck %s --check-prefix=APART

// With 32 KiB of second-level cache a picture of 64 KiB is better not made at all.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 32768, threads = 1>} {
  func.func @main(%x: tensor<1x64x64x4xf32> {graph.name = "x"}, %q: tensor<1x6x24xf32> {graph.name = "q"}, %a: tensor<8x16xf32> {graph.name = "a"}, %i: tensor<1x32x8x4xf32> {graph.name = "i"}) -> (tensor<1x32x32x4xf32> {graph.name = "p"}, tensor<1x6x2x4xf32> {graph.name = "o"}, tensor<8x9xf32> {graph.name = "m"}, tensor<8x8xf32> {graph.name = "g"}, tensor<1x16x4x4xf32> {graph.name = "j"}) {
    // The convolution's elementwise ops and its pool join it.
    // CHECK: graph.call @conv_max_pool_0(%x, %{{.*}})
    %w = graph.weight #graph.blob<"", 0, 576, "a"> : tensor<4x4x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x64x64x4xf32>, tensor<4x4x3x3xf32>) -> tensor<1x64x64x4xf32>
    %r = graph.relu %c : tensor<1x64x64x4xf32>
    %p = graph.max_pool %r {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x64x64x4xf32>) -> tensor<1x32x32x4xf32>

    // Three parts of one projection, seen as heads: the kernel reads the projection itself, three times.
    // CHECK-NEXT: graph.call @attention_transpose_0(%q) : (tensor<1x6x24xf32>) -> tensor<1x6x2x4xf32>
    %s0 = graph.slice %q {starts = array<i64: 0, 0, 0>, stops = array<i64: 1, 6, 8>, steps = array<i64: 1, 1, 1>} : (tensor<1x6x24xf32>) -> tensor<1x6x8xf32>
    %s1 = graph.slice %q {starts = array<i64: 0, 0, 8>, stops = array<i64: 1, 6, 16>, steps = array<i64: 1, 1, 1>} : (tensor<1x6x24xf32>) -> tensor<1x6x8xf32>
    %s2 = graph.slice %q {starts = array<i64: 0, 0, 16>, stops = array<i64: 1, 6, 24>, steps = array<i64: 1, 1, 1>} : (tensor<1x6x24xf32>) -> tensor<1x6x8xf32>
    %h0 = graph.reshape %s0 {shape = array<i64: 1, 6, 2, 4>} : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
    %h1 = graph.reshape %s1 {shape = array<i64: 1, 6, 2, 4>} : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
    %h2 = graph.reshape %s2 {shape = array<i64: 1, 6, 2, 4>} : (tensor<1x6x8xf32>) -> tensor<1x6x2x4xf32>
    %t0 = graph.transpose %h0 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
    %t1 = graph.transpose %h1 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
    %t2 = graph.transpose %h2 {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x4xf32>) -> tensor<1x2x6x4xf32>
    %t = graph.attention %t0, %t1, %t2 {scale = 0.5 : f64} : tensor<1x2x6x4xf32>
    %o = graph.transpose %t {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x6x4xf32>) -> tensor<1x6x2x4xf32>

    // What makes the left-hand side joins the product, where the weights are small.
    // CHECK-NEXT: %[[W:.*]] = graph.weight
    // CHECK-NEXT: graph.call @matmul_0(%a, %[[W]])
    %v = graph.weight #graph.blob<"", 576, 576, "b"> : tensor<16x9xf32>
    %e = graph.tanh %a : tensor<8x16xf32>
    %m = graph.matmul %e, %v : (tensor<8x16xf32>, tensor<16x9xf32>) -> tensor<8x9xf32>

    // The transpose is read with other strides.
    // CHECK-NEXT: graph.call @matmul_1(%a) : (tensor<8x16xf32>) -> tensor<8x8xf32>
    %b = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %g = graph.matmul %a, %b : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>

    // So do a depthwise convolution of a large picture and a pointwise one behind it, with what follows each; not where
    // the schedule for all of them is forbidden.
    // CHECK: graph.call @conv_conv_0(%i, %{{.*}}, %{{.*}}, %{{.*}}) : (tensor<1x32x8x4xf32>,
    // APART: graph.call @conv_relu_0(%i,
    // APART: graph.call @conv_relu_1(
    // APART: graph.call @conv_0(
    %x1 = graph.weight #graph.blob<"", 1152, 640, "c"> : tensor<40x4x1x1xf32>
    %x2 = graph.weight #graph.blob<"", 1792, 1440, "d"> : tensor<40x1x3x3xf32>
    %x3 = graph.weight #graph.blob<"", 3232, 640, "e"> : tensor<4x40x1x1xf32>
    %j1 = graph.conv %i, %x1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x32x8x4xf32>, tensor<40x4x1x1xf32>) -> tensor<1x32x8x40xf32>
    %j2 = graph.relu %j1 : tensor<1x32x8x40xf32>
    %j3 = graph.conv %j2, %x2 {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 40 : i64, layout = "NHWC"} : (tensor<1x32x8x40xf32>, tensor<40x1x3x3xf32>) -> tensor<1x16x4x40xf32>
    %j4 = graph.relu %j3 : tensor<1x16x4x40xf32>
    %j = graph.conv %j4, %x3 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x4x40xf32>, tensor<4x40x1x1xf32>) -> tensor<1x16x4x4xf32>
    func.return %p, %o, %m, %g, %j : tensor<1x32x32x4xf32>, tensor<1x6x2x4xf32>, tensor<8x9xf32>, tensor<8x8xf32>, tensor<1x16x4x4xf32>
  }
}

// CHECK:      graph.kernel @conv_max_pool_0
// CHECK:        graph.conv
// CHECK-NEXT:   graph.relu
// CHECK-NEXT:   graph.max_pool
// CHECK:      graph.kernel @matmul_0
// CHECK-NEXT:   graph.tanh
// CHECK-NEXT:   graph.matmul
// CHECK:      graph.kernel @conv_conv_0
// CHECK-SAME:   form = #kernel.form<"separable">
// CHECK-NEXT:   graph.conv
// CHECK-NEXT:   graph.relu
// CHECK-NEXT:   graph.conv
// CHECK-NEXT:   graph.relu
// CHECK-NEXT:   graph.conv
// CHECK-NEXT:   graph.yield
