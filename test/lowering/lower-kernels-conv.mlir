// RUN: mini-opt %s -p lower-kernels | filecheck %s

// No padded copy is made: tiles at the left and right border leave out taps, calls at the top and bottom filter rows.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x6x12x3xf32>, %w: memref<1x1x27x8xf32>, %y: memref<1x6x12x8xf32>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x6x12x3xf32>, memref<1x1x27x8xf32>) outs(%y : memref<1x6x12x8xf32>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x6x12x3xf32>, %p: tensor<1x1x27x8xf32>) -> tensor<1x6x12x8xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"conv_panels", {nr = 8}>]>} {
    %w = graph.unpack %p {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 3, 3, 3>} : (tensor<1x1x27x8xf32>) -> tensor<8x3x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x12x3xf32>, tensor<8x3x3x3xf32>) -> tensor<1x6x12x8xf32>
    graph.yield %c : tensor<1x6x12x8xf32>
  }
}

// CHECK-LABEL: func.func private @tile_4x8_1to4_0to4_0to4(
// CHECK-SAME:    %depth: index, {{.*}}%a_tap: index)
// In the middle the taps of a filter row lie side by side and are one loop. A call says how many filter rows it visits.
// CHECK-LABEL: func.func private @tile_4x8(
// CHECK:         memref.reinterpret_cast %a_place to {{.*}} sizes: [%filter_rows, 4, 1, %depth], strides: [%a_filter_row, %a_stride, 0, 1]
// CHECK:         scf.for %{{.*}} = %{{.*}} to %filter_rows step
// CHECK-LABEL: func.func private @tile_4x8_0to4_0to4_0to3(
// CHECK-LABEL: func.func private @panels(
// The taps of a row are three times its run.
// CHECK:         func.call @tile_4x8_1to4_0to4_0to4(%{{[0-9]+}}, %nest_run,
// CHECK:         arith.muli %nest_run, %{{.*}} : index
// CHECK:         func.call @tile_4x8(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %nest_a_pixels
// CHECK:         func.call @tile_4x8_0to4_0to4_0to3(%{{[0-9]+}}, %nest_run,
