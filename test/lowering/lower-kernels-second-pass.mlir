// RUN: mini-opt %s --split-input-file -p lower-kernels | filecheck %s

// Of a tile's 8 columns 5 exist: sums wait for the sigmoid in memory of their own, as loads would wait for masked stores.
// CHECK-LABEL: func.func private @tile_4x5_sigmoid(
// CHECK:         %[[SUMS:.*]] = memref.alloca() : memref<4x8xf32>
// CHECK-COUNT-4: vector.store %{{.*}}, %[[SUMS]]
// CHECK:         vector.load %[[SUMS]]
// CHECK:         vector.store {{.*}}, vector<4xf32>
// CHECK:         memref.store
// CHECK-NOT:     vector.maskedstore
// CHECK-LABEL: func.func private @panels
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<4x3xf32>, %w: memref<1x3x8xf32>, %y: memref<4x5xf32>) {
    kernel.call @product ins(%x, %w : memref<4x3xf32>, memref<1x3x8xf32>) outs(%y : memref<4x5xf32>)
    func.return
  }

  graph.kernel @product(%a: tensor<4x3xf32>, %p: tensor<1x3x8xf32>) -> tensor<4x5xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 0}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
    %b = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 3, 5>} : (tensor<1x3x8xf32>) -> tensor<3x5xf32>
    %m = graph.matmul %a, %b : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
    %s = graph.sigmoid %m : tensor<4x5xf32>
    graph.yield %s : tensor<4x5xf32>
  }
}

// -----

// All 8 exist: they wait in the result.
// CHECK-LABEL: func.func private @tile_4x8_sigmoid(
// CHECK-NOT:     memref.alloca
// CHECK-LABEL: func.func private @panels
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<4x3xf32>, %w: memref<1x3x8xf32>, %y: memref<4x8xf32>) {
    kernel.call @product ins(%x, %w : memref<4x3xf32>, memref<1x3x8xf32>) outs(%y : memref<4x8xf32>)
    func.return
  }

  graph.kernel @product(%a: tensor<4x3xf32>, %p: tensor<1x3x8xf32>) -> tensor<4x8xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 0}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
    %b = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 3, 8>} : (tensor<1x3x8xf32>) -> tensor<3x8xf32>
    %m = graph.matmul %a, %b : (tensor<4x3xf32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %s = graph.sigmoid %m : tensor<4x8xf32>
    graph.yield %s : tensor<4x8xf32>
  }
}

// -----

// Likewise of a depthwise convolution, whose second register of channels is half full.
// CHECK-LABEL: func.func private @patch_1x2
// CHECK:         %[[SUMS:.*]] = memref.alloca() : memref<1x2x4xf32>
// CHECK-COUNT-2: vector.store %{{.*}}, %[[SUMS]]
// CHECK:         vector.load %[[SUMS]]
// CHECK:         vector.maskedstore
// CHECK-NOT:     vector.maskedstore
// CHECK:         func.return
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x1x4x6xf32>, %w: memref<2x3x4xf32>, %y: memref<1x1x2x6xf32>) {
    kernel.call @conv_0 ins(%x, %w : memref<1x1x4x6xf32>, memref<2x3x4xf32>) outs(%y : memref<1x1x2x6xf32>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<1x1x4x6xf32>, %p: tensor<2x3x4xf32>) -> tensor<1x1x2x6xf32> attributes {schedule = #kernel.schedule<"depthwise", {tile_rows = 1, tile_columns = 2, lanes = 4, chunks = 1, inline = 0}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"depthwise", {nr = 4}>]>} {
    %w = graph.unpack %p {packing = #kernel.packing<"depthwise", {nr = 4}>, shape = array<i64: 6, 1, 1, 3>} : (tensor<2x3x4xf32>) -> tensor<6x1x1x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 6 : i64, layout = "NHWC"} : (tensor<1x1x4x6xf32>, tensor<6x1x1x3xf32>) -> tensor<1x1x2x6xf32>
    %s = graph.sigmoid %c : tensor<1x1x2x6xf32>
    graph.yield %s : tensor<1x1x2x6xf32>
  }
}
