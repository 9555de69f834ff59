// RUN: mini-opt %s --split-input-file -p lower-kernels | filecheck %s

// Four channels of one row of two pixels: both pixels and the three taps share the inputs.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x1x4x6xf32>, %w: memref<2x3x4xf32>, %y: memref<1x1x2x6xf32>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x1x4x6xf32>, memref<2x3x4xf32>) outs(%y : memref<1x1x2x6xf32>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x1x4x6xf32>, %p: tensor<2x3x4xf32>) -> tensor<1x1x2x6xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
    %w = graph.unpack %p {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 6, 1, 1, 3>} : (tensor<2x3x4xf32>) -> tensor<6x1x1x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 6 : i64, layout = "NHWC"} : (tensor<1x1x4x6xf32>, tensor<6x1x1x3xf32>) -> tensor<1x1x2x6xf32>
    graph.yield %c : tensor<1x1x2x6xf32>
  }
}

// The last two channels are half a register, so inputs are loaded through a mask: four pixels for six products.
// CHECK-LABEL:    func.func private @kernel_conv_0(
// CHECK:          func.call @patch_1x2(
// CHECK-LABEL:    func.func private @patch_1x2(%x_place: {{.*}}, %x_row: index, %x_column: index, %out_place: {{.*}}, %filter: {{.*}}, %first: index, %last: index,
// CHECK-COUNT-4:  vector.maskedload
// CHECK-NOT:      vector.maskedload

// -----

// Two filters for each of three channels: a register has those of two channels, whose lanes are doubled as a pixel is
// loaded. Half of the second register is empty.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x1x4x3xf32>, %w: memref<2x3x4xf32>, %y: memref<1x1x2x6xf32>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x1x4x3xf32>, memref<2x3x4xf32>) outs(%y : memref<1x1x2x6xf32>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x1x4x3xf32>, %p: tensor<2x3x4xf32>) -> tensor<1x1x2x6xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
    %w = graph.unpack %p {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 6, 1, 1, 3>} : (tensor<2x3x4xf32>) -> tensor<6x1x1x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 3 : i64, layout = "NHWC"} : (tensor<1x1x4x3xf32>, tensor<6x1x1x3xf32>) -> tensor<1x1x2x6xf32>
    graph.yield %c : tensor<1x1x2x6xf32>
  }
}

// CHECK-LABEL:    func.func private @patch_1x2(
// CHECK:          %[[PIXEL:.*]] = vector.maskedload {{.*}} into vector<2xf32>
// CHECK-NEXT:     vector.shuffle %[[PIXEL]], %[[PIXEL]] [0, 0, 1, 1] : vector<2xf32>, vector<2xf32>
// CHECK-COUNT-3:  vector.maskedload {{.*}} into vector<2xf32>
// CHECK-NOT:      vector.maskedload

// -----

// Under a filter of one column tiles lie along the columns of a picture: a tile's pixels are a row of memory apart, and its
// four pixels serve three taps.
// CHECK-LABEL:    func.func private @kernel_conv_0(
// CHECK-DAG:      %[[ROW:.*]] = arith.constant 12 : index
// CHECK-DAG:      %[[COLUMN:.*]] = arith.constant 6 : index
// CHECK:          func.call @patch_1x2(%{{[0-9]+}}, %[[COLUMN]], %[[ROW]],
// CHECK-LABEL:    func.func private @patch_1x2(
// CHECK-COUNT-4:  vector.maskedload
// CHECK-NOT:      vector.maskedload
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x4x2x6xf32>, %w: memref<2x3x4xf32>, %y: memref<1x2x2x6xf32>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x4x2x6xf32>, memref<2x3x4xf32>) outs(%y : memref<1x2x2x6xf32>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x4x2x6xf32>, %p: tensor<2x3x4xf32>) -> tensor<1x2x2x6xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
    %w = graph.unpack %p {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 6, 1, 3, 1>} : (tensor<2x3x4xf32>) -> tensor<6x1x3x1xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 6 : i64, layout = "NHWC"} : (tensor<1x4x2x6xf32>, tensor<6x1x3x1xf32>) -> tensor<1x2x2x6xf32>
    graph.yield %c : tensor<1x2x2x6xf32>
  }
}
