// RUN: mini-opt %s -p lower-kernels | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<4x6xf32>, %t: memref<3x1x4xf32>, %w: memref<1x1x4x8xf32>, %r: memref<1x1x2x8xf32>, %h: memref<1x1x2xf32>, %s: memref<256xi8>) {
    kernel.call @lrn_0 ins(%x : memref<4x6xf32>) outs(%x : memref<4x6xf32>) scratch(%s : memref<256xi8>)
    kernel.call @lstm_0 ins(%t, %w, %r : memref<3x1x4xf32>, memref<1x1x4x8xf32>, memref<1x1x2x8xf32>) outs(%h : memref<1x1x2xf32>) scratch(%s : memref<256xi8>)
    func.return
  }

  // In place there is one buffer; the squares of a pixel are in scratch before it is written.
  // CHECK-LABEL: func.func private @kernel_lrn_0(
  // CHECK-SAME:    %[[X:[0-9]+]]: memref<4x6xf32>, %[[S:[0-9]+]]: memref<256xi8>
  // CHECK:         %[[SQUARES:.*]] = memref.view %[[S]]
  // CHECK:         scf.for
  // CHECK:           vector.store %{{.*}}, %[[SQUARES]]{{.*}} vector<2xf32>
  // CHECK:           math.sqrt
  // CHECK:           vector.store {{.*}} vector<2xf32>
  graph.kernel @lrn_0(%x: tensor<4x6xf32>) -> tensor<4x6xf32> attributes {schedule = #kernel.schedule<"lrn", {vector = 8}>, interface = #kernel.interface<inplace = [[0, 0]], per_thread = 64>} {
    %y = graph.lrn %x {size = 3 : i64, alpha = 0.1 : f64, beta = 0.75 : f64, bias = 1.0 : f64, layout = "NHWC"} : tensor<4x6xf32>
    graph.yield %y : tensor<4x6xf32>
  }

  // The input's share of all steps is one product; then a product and a cell for each step. Only the last h is stored.
  // CHECK-LABEL: func.func private @kernel_lstm_0(
  // CHECK-SAME:    %[[H:[0-9]+]]: memref<1x1x2xf32>
  // CHECK:         func.call @tile_3x8
  // CHECK:         scf.for
  // CHECK:           func.call @kernel_lstm_0_recurrent_product
  // CHECK:           func.call @kernel_lstm_0_cell
  // CHECK:         vector.store %{{.*}}, %[[H]]{{.*}} vector<2xf32>
  graph.kernel @lstm_0(%x: tensor<3x1x4xf32>, %p: tensor<1x1x4x8xf32>, %q: tensor<1x1x2x8xf32>) -> tensor<1x1x2xf32> attributes {schedule = #kernel.schedule<"recurrence", {mr = 6, nr = 8, lanes = 4, at_once = 4}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8, transposed = 1}>, 2 : #kernel.packing<"panels", {nr = 8, transposed = 1}>], per_thread = 256>} {
    %a = graph.unpack %p {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 4, 1>} : (tensor<1x1x4x8xf32>) -> tensor<8x4x1xf32>
    %w = graph.reshape %a {shape = array<i64: 1, 8, 4>} : (tensor<8x4x1xf32>) -> tensor<1x8x4xf32>
    %b = graph.unpack %q {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 2, 1>} : (tensor<1x1x2x8xf32>) -> tensor<8x2x1xf32>
    %r = graph.reshape %b {shape = array<i64: 1, 8, 2>} : (tensor<8x2x1xf32>) -> tensor<1x8x2xf32>
    %y, %h, %c = graph.lstm %x, %w, %r {hidden = 2 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x1x4xf32>, tensor<1x8x4xf32>, tensor<1x8x2xf32>) -> (tensor<3x1x1x2xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
    graph.yield %h : tensor<1x1x2xf32>
  }
}
