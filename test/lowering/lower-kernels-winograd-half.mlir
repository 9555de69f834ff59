// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Filters that are transformed by rows alone: 4 rows of coordinates, 3 columns of each.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x5x6x8xf32>, %w: memref<1x12x1x8x8xf32>, %y: memref<1x5x6x8xf32>, %s: memref<9344xi8>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x5x6x8xf32>, memref<1x12x1x8x8xf32>) outs(%y : memref<1x5x6x8xf32>) scratch(%s : memref<9344xi8>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x5x6x8xf32>, %p: tensor<1x12x1x8x8xf32>) -> tensor<1x5x6x8xf32> attributes {schedule = #kernel.schedule<"winograd", {tile = 2, block = 5, mr = 6, nr = 8, panels = 1, lanes = 4, inline = 1, half = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"winograd", {nr = 8, tile = 2, panels = 1, half = 1}>], per_thread = 9344>} {
    %w = graph.unpack %p {packing = #kernel.packing<"winograd", {nr = 8, tile = 2, panels = 1, half = 1}>, shape = array<i64: 8, 8, 3, 3>} : (tensor<1x12x1x8x8xf32>) -> tensor<8x8x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x5x6x8xf32>, tensor<8x8x3x3xf32>) -> tensor<1x5x6x8xf32>
    %r = graph.relu %c : tensor<1x5x6x8xf32>
    graph.yield %r : tensor<1x5x6x8xf32>
  }
}

// The second and the third column of a row are made; the first and the last are read where they are packed.
// CHECK-LABEL: func.func private @winograd_2_filters(
// CHECK:         vector.load
// CHECK:         vector.load
// CHECK:         vector.load
// CHECK:         vector.store
// CHECK:         vector.store
// CHECK-NEXT:    }
// CHECK-LABEL: func.func private @winograd(
// CHECK:         func.call @winograd_2_in_1to4(
// CHECK:           func.call @winograd_2_filters(
// CHECK:           arith.select %{{.*}} : memref
// CHECK:           func.call @tile_5x8(
// CHECK:         func.call @winograd_2_out_relu(
