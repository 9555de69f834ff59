// RUN: mini-opt %s -p split-pool --split-input-file | filecheck %s

// 10 elements for each result instead of 25.
// CHECK-LABEL: @large
// CHECK-NEXT:    %[[Y:.*]] = graph.max_pool %x {kernel = array<i64: 5, 1>, strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 2, 0>, dilations = array<i64: 1, 1>, layout = "NCHW"}
// CHECK-NEXT:    graph.max_pool %[[Y]] {kernel = array<i64: 1, 5>, strides = array<i64: 1, 1>, pads = array<i64: 0, 2, 0, 2>, dilations = array<i64: 1, 1>, layout = "NCHW"}
// The axis with larger steps comes first, and leaves less to the other; pads count as before.
// CHECK-LABEL: @mean
// CHECK-NEXT:    %[[Y:.*]] = graph.avg_pool %x {kernel = array<i64: 1, 9>, strides = array<i64: 1, 3>, pads = array<i64: 0, 4, 0, 3>, dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC", count_include_pad} : (tensor<1x20x20x3xf32>) -> tensor<1x20x7x3xf32>
// CHECK-NEXT:    graph.avg_pool %[[Y]] {kernel = array<i64: 9, 1>, strides = array<i64: 1, 1>, pads = array<i64: 4, 0, 2, 0>, dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC", count_include_pad} : (tensor<1x20x7x3xf32>) -> tensor<1x18x7x3xf32>
// An axis whose windows are of one element but a step apart is done, too.
// CHECK-LABEL: @steps
// CHECK-NEXT:    %[[Y:.*]] = graph.max_pool %x {kernel = array<i64: 1, 1, 1>, strides = array<i64: 1, 1, 2>
// CHECK-NEXT:    %[[Z:.*]] = graph.max_pool %[[Y]] {kernel = array<i64: 5, 1, 1>
// CHECK-NEXT:    graph.max_pool %[[Z]] {kernel = array<i64: 1, 5, 1>
// What is between the two would take longer than the elements that aren't read.
// CHECK-LABEL: @small
// CHECK-NEXT:    graph.max_pool
// CHECK-NEXT:    func.return
// CHECK-LABEL: @rounded
// CHECK-NEXT:    graph.avg_pool
// CHECK-NEXT:    func.return
builtin.module attributes {kernel.target = #kernel.cpu<"generic">} {
  func.func @large(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32> {
    %y = graph.max_pool %x {kernel = array<i64: 5, 5>, strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
    func.return %y : tensor<1x2x9x9xf32>
  }
  func.func @mean(%x: tensor<1x20x20x3xf32>) -> tensor<1x18x7x3xf32> {
    %y = graph.avg_pool %x {kernel = array<i64: 9, 9>, strides = array<i64: 1, 3>, pads = array<i64: 4, 4, 2, 3>, dilations = array<i64: 1, 1>, ceil_mode, layout = "NHWC", count_include_pad} : (tensor<1x20x20x3xf32>) -> tensor<1x18x7x3xf32>
    func.return %y : tensor<1x18x7x3xf32>
  }
  func.func @steps(%x: tensor<1x2x9x9x9xf32>) -> tensor<1x2x9x9x5xf32> {
    %y = graph.max_pool %x {kernel = array<i64: 5, 5, 1>, strides = array<i64: 1, 1, 2>, pads = array<i64: 2, 2, 0, 2, 2, 0>, dilations = array<i64: 1, 1, 1>, layout = "NCHW"} : (tensor<1x2x9x9x9xf32>) -> tensor<1x2x9x9x5xf32>
    func.return %y : tensor<1x2x9x9x5xf32>
  }
  func.func @small(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32> {
    %y = graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
    func.return %y : tensor<1x2x9x9xf32>
  }
  func.func @rounded(%x: tensor<1x2x9x9xf16>) -> tensor<1x2x9x9xf16> {
    %y = graph.avg_pool %x {kernel = array<i64: 5, 5>, strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x9x9xf16>) -> tensor<1x2x9x9xf16>
    func.return %y : tensor<1x2x9x9xf16>
  }
}

// -----

// Not on a GPU.
// CHECK-LABEL: @on_a_gpu
// CHECK-NEXT:    graph.max_pool
// CHECK-NEXT:    func.return
builtin.module attributes {kernel.target = #kernel.gpu<"H100">} {
  func.func @on_a_gpu(%x: tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32> {
    %y = graph.max_pool %x {kernel = array<i64: 5, 5>, strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 2, 2>, dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x9x9xf32>) -> tensor<1x2x9x9xf32>
    func.return %y : tensor<1x2x9x9xf32>
  }
}
