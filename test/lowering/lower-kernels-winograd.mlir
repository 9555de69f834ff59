// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Tiles of 2 rows and columns: 16 coordinates, 3 x 3 tiles of a picture of 5 x 6 pixels with a border of 1.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x5x6x8xf32>, %w: memref<1x16x1x8x8xf32>, %y: memref<1x5x6x8xf32>, %s: memref<9344xi8>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x5x6x8xf32>, memref<1x16x1x8x8xf32>) outs(%y : memref<1x5x6x8xf32>) scratch(%s : memref<9344xi8>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x5x6x8xf32>, %p: tensor<1x16x1x8x8xf32>) -> tensor<1x5x6x8xf32> attributes {schedule = #kernel.schedule<"winograd", {tile = 2, block = 5, mr = 6, nr = 8, panels = 1, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"winograd", {nr = 8, tile = 2, panels = 1}>], per_thread = 9344>} {
    %w = graph.unpack %p {packing = #kernel.packing<"winograd", {nr = 8, tile = 2, panels = 1}>, shape = array<i64: 8, 8, 3, 3>} : (tensor<1x16x1x8x8xf32>) -> tensor<8x8x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x5x6x8xf32>, tensor<8x8x3x3xf32>) -> tensor<1x5x6x8xf32>
    %r = graph.relu %c : tensor<1x5x6x8xf32>
    graph.yield %r : tensor<1x5x6x8xf32>
  }
}

// Tiles at the left border see no column 0, those in the middle all, and those at the right border no column 3.
// CHECK-LABEL: func.func private @winograd_2_in_1to4(
// Rows of zeros, rows of pixels, rows of zeros; then each column becomes coordinates.
// CHECK:         scf.for %{{.*}} = %{{.*}} to %first
// CHECK:         scf.for %{{.*}} = %first to %last
// CHECK:         scf.for %{{.*}} = %last to
// CHECK-LABEL: func.func private @winograd_2_in_0to4(
// CHECK-LABEL: func.func private @winograd_2_in_0to3(
// 9 tiles are a block of 5 and one of 4.
// CHECK-LABEL: func.func private @tile_5x8(
// CHECK-LABEL: func.func private @tile_4x8(
// The epilogue is that of the transform back.
// Where results go is asked for a tile ahead.
// CHECK-LABEL: func.func private @winograd_2_out_relu(
// CHECK:         memref.prefetch %{{.*}}, write, locality<3>, data
// CHECK:         scf.if
// CHECK:         vector.store
// CHECK-LABEL: func.func private @winograd(
// CHECK:         func.call @winograd_2_in_1to4(
// CHECK:         func.call @tile_5x8(
// CHECK:         func.call @winograd_2_out_relu(
