// RUN: mini-opt %s -p lower-kernels | filecheck %s

#target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>

builtin.module attributes {kernel.target = #target} {
  func.func @main(%x: memref<8x8xf32>, %w: memref<2x8x8xf32>, %y: memref<8x16xf32>, %p: memref<1x8x4x1xf32>, %f: memref<1x1x1x8xf32>, %z: memref<1x4x2x8xf32>, %s: memref<512xi8>) {
    kernel.call @relu_matmul ins(%x, %w : memref<8x8xf32>, memref<2x8x8xf32>) outs(%y : memref<8x16xf32>) scratch(%s : memref<512xi8>)
    kernel.call @conv_max_pool ins(%p, %f : memref<1x8x4x1xf32>, memref<1x1x1x8xf32>) outs(%z : memref<1x4x2x8xf32>) scratch(%s : memref<512xi8>)
    func.return
  }

  // Blocks of four rows: the relu goes to scratch once, however many panels are multiplied with it.
  // CHECK-LABEL: func.func private @kernel_relu_matmul(
  // CHECK:         func.call @blocks(
  graph.kernel @relu_matmul(%a: tensor<8x8xf32>, %p: tensor<2x8x8xf32>) -> tensor<8x16xf32> attributes {schedule = #kernel.schedule<"prologue_panels", {mr = 4, nr = 8, lanes = 4, inline = 1, block = 4}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>], per_thread = 128>} {
    %r = graph.relu %a : tensor<8x8xf32>
    %w = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 8, 16>} : (tensor<2x8x8xf32>) -> tensor<8x16xf32>
    %m = graph.matmul %r, %w : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    graph.yield %m : tensor<8x16xf32>
  }

  // Bands of two pooled rows: four rows of the convolution are in scratch at a time, row y in slot y % 4.
  // CHECK-LABEL: func.func private @kernel_conv_max_pool(
  // CHECK:         %[[BAND:.*]] = memref.view %{{.*}} : memref<512xi8> to memref<4x4x8xf32>
  // CHECK:         %[[NEW:.*]] = arith.select %{{.*}} : index
  // CHECK:         scf.for %[[Y:.*]] = %[[NEW]] to
  // CHECK:             arith.remui %[[Y]]
  // CHECK:         func.call @tile_4x8
  // CHECK:         vector.load %[[BAND]]
  // CHECK:         arith.maximumf
  graph.kernel @conv_max_pool(%x: tensor<1x8x4x1xf32>, %p: tensor<1x1x1x8xf32>) -> tensor<1x4x2x8xf32> attributes {schedule = #kernel.schedule<"pooled_panels", {mr = 4, nr = 8, lanes = 4, inline = 1, band = 2}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"conv_panels", {nr = 8}>], per_thread = 512>} {
    %w = graph.unpack %p {packing = #kernel.packing<"conv_panels", {nr = 8}>, shape = array<i64: 8, 1, 1, 1>} : (tensor<1x1x1x8xf32>) -> tensor<8x1x1x1xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x8x4x1xf32>, tensor<8x1x1x1xf32>) -> tensor<1x8x4x8xf32>
    %m = graph.max_pool %c {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x8x4x8xf32>) -> tensor<1x4x2x8xf32>
    graph.yield %m : tensor<1x4x2x8xf32>
  }
}

// CHECK-LABEL: func.func private @fill_relu(%operand_place: {{.*}}, %operand_row: index, %scratch: {{.*}}, %rows: index, %depth: index)
// CHECK:         arith.select
// CHECK-LABEL: func.func private @tile_4x8(
// CHECK-LABEL: func.func private @blocks(
// CHECK:         scf.for
// CHECK:           func.call @fill_relu
// CHECK:           scf.for
// CHECK:             func.call @tile_4x8
