// RUN: mini-opt %s -p form-kernels | filecheck %s
// RUN: mini-opt %s -p 'form-kernels{forbid=winograd}' | filecheck %s --check-prefix=PANELS

// A convolution that Winograd's transforms suit takes a pool whose windows its tiles hold whole. Without transforms its
// weights, 324 KiB, are too many to be read once for each band of rows from 64 KiB of second-level cache.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 65536, threads = 1>} {
  func.func @main(%x: tensor<1x16x16x96xf32> {graph.name = "x"}) -> (tensor<1x8x8x96xf32> {graph.name = "y"}, tensor<1x8x8x96xf32> {graph.name = "z"}) {
    // CHECK:      graph.call @conv_max_pool_0
    // CHECK: graph.call @conv_0
    // CHECK-NEXT: graph.call @max_pool_0
    // PANELS:      graph.call @conv_0
    // PANELS-NEXT: graph.call @max_pool_0
    %w = graph.weight #graph.blob<"", 0, 331776, "a"> : tensor<96x96x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x96xf32>, tensor<96x96x3x3xf32>) -> tensor<1x16x16x96xf32>
    %y = graph.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x16x16x96xf32>) -> tensor<1x8x8x96xf32>

    // Windows of three rows lie across tiles.
    %v = graph.weight #graph.blob<"", 0, 331776, "b"> : tensor<96x96x3x3xf32>
    %d = graph.conv %x, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x96xf32>, tensor<96x96x3x3xf32>) -> tensor<1x16x16x96xf32>
    %z = graph.max_pool %d {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 0, 0>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x16x16x96xf32>) -> tensor<1x8x8x96xf32>
    func.return %y, %z : tensor<1x8x8x96xf32>, tensor<1x8x8x96xf32>
  }
}
