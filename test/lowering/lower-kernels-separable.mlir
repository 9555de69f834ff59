// RUN: mini-opt %s -p lower-kernels | filecheck %s

#target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 4096, threads = 1>

builtin.module attributes {kernel.target = #target} {
  func.func @main(%x: memref<1x6x4x2xf32>, %e: memref<1x1x2x8xf32>, %d: memref<2x9x4xf32>, %p: memref<1x1x8x8xf32>, %y: memref<1x6x4x8xf32>, %s: memref<768xi8>) {
    kernel.call @convs ins(%x, %e, %d, %p : memref<1x6x4x2xf32>, memref<1x1x2x8xf32>, memref<2x9x4xf32>, memref<1x1x8x8xf32>) outs(%y : memref<1x6x4x8xf32>) scratch(%s : memref<768xi8>)
    func.return
  }

  // Bands of two rows look at four, and make two of eight channels for the last convolution.
  // CHECK-LABEL: func.func private @kernel_convs(
  // CHECK-DAG:     %[[READ:.*]] = memref.view %{{.*}} : memref<768xi8> to memref<1x4x4x8xf32>
  // CHECK-DAG:     %[[MADE:.*]] = memref.view %{{.*}} : memref<768xi8> to memref<1x2x4x8xf32>
  // CHECK:         scf.for
  // The last two rows of a band are the first of the next one, if that is of the same picture: 64 elements.
  // CHECK:           %[[FIRST:.*]] = arith.ori
  // CHECK:           scf.if %[[FIRST]] {
  // CHECK-NEXT:      } else {
  // CHECK:             %[[KEPT:.*]] = vector.load
  // CHECK-NEXT:        vector.store %[[KEPT]]
  // CHECK:           arith.select %[[FIRST]]
  // CHECK:           func.call @tile_4x8
  // CHECK:           func.call @patch_1x
  // CHECK:           func.call @tile_4x8
  graph.kernel @convs(%x: tensor<1x6x4x2xf32>, %e: tensor<1x1x2x8xf32>, %d: tensor<2x9x4xf32>, %p: tensor<1x1x8x8xf32>) -> tensor<1x6x4x8xf32> attributes {schedule = #kernel.schedule<"bands", {band = 2, mr = 4, nr = 8, lanes = 4, tile_rows = 1, tile_columns = 4}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"conv_panels", {nr = 8}>, 2 : #kernel.packing<"depthwise", {nr = 4}>, 3 : #kernel.packing<"conv_panels", {nr = 8}>], per_thread = 768>} {
    %0 = graph.unpack %e {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 2, 1, 1>} : (tensor<1x1x2x8xf32>) -> tensor<8x2x1x1xf32>
    %1 = graph.unpack %d {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 8, 1, 3, 3>} : (tensor<2x9x4xf32>) -> tensor<8x1x3x3xf32>
    %2 = graph.unpack %p {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 8, 1, 1>} : (tensor<1x1x8x8xf32>) -> tensor<8x8x1x1xf32>
    %a = graph.conv %x, %0 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x4x2xf32>, tensor<8x2x1x1xf32>) -> tensor<1x6x4x8xf32>
    %b = graph.relu %a : tensor<1x6x4x8xf32>
    %c = graph.conv %b, %1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 8 : i64, layout = "NHWC"} : (tensor<1x6x4x8xf32>, tensor<8x1x3x3xf32>) -> tensor<1x6x4x8xf32>
    %f = graph.conv %c, %2 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x4x8xf32>, tensor<8x8x1x1xf32>) -> tensor<1x6x4x8xf32>
    graph.yield %f : tensor<1x6x4x8xf32>
  }
}
