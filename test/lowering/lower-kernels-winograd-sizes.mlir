// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Two tiles of 2 rows and columns to a picture of 4x2 pixels; blocks of up to 20 of their tiles, with a number of pictures that is
// known at run time.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 10 in [1, 64]>} {
  func.func @main(%x: memref<(batch)x4x2x8xf32> {graph.role = "input"}, %w: memref<1x16x1x8x8xf32>, %y: memref<(batch)x4x2x8xf32> {graph.role = "output"}, %s: memref<22528xi8>, %sizes: memref<1xi64> {graph.role = "sizes"}) {
    kernel.call @conv_0 ins(%x, %w : memref<(batch)x4x2x8xf32>, memref<1x16x1x8x8xf32>) outs(%y : memref<(batch)x4x2x8xf32>) scratch(%s : memref<22528xi8>)
    func.return
  }

  graph.kernel @conv_0(%x: tensor<(batch)x4x2x8xf32>, %p: tensor<1x16x1x8x8xf32>) -> tensor<(batch)x4x2x8xf32> attributes {schedule = #kernel.schedule<"winograd", {tile = 2, block = 20, mr = 6, nr = 8, panels = 1, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"winograd", {nr = 8, tile = 2, panels = 1}>], per_thread = 22528>} {
    %w = graph.unpack %p {packing = #kernel.packing<"winograd", {nr = 8, tile = 2, panels = 1}>, shape = array<i64: 8, 8, 3, 3>} : (tensor<1x16x1x8x8xf32>) -> tensor<8x8x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<(batch)x4x2x8xf32>, tensor<8x8x3x3xf32>) -> tensor<(batch)x4x2x8xf32>
    graph.yield %c : tensor<(batch)x4x2x8xf32>
  }
}

// Register tiles of all sizes that 7 to 10 tiles may be divided into, with which a block may be as large.
// CHECK-LABEL: func.func @main(
// CHECK-LABEL: func.func private @kernel_conv_0(
// CHECK-DAG:     %[[BLOCKS:.*]] = arith.constant ((batch + 9) floordiv 10) : index
// CHECK-DAG:     %[[TILES:.*]] = arith.constant (batch * 2) : index
// CHECK:         func.call @winograd(%{{.*}}, %{{.*}}, %{{.*}}, %[[TILES]], %[[BLOCKS]],
// CHECK-LABEL: func.func private @tile_6x8(
// CHECK-LABEL: func.func private @tile_5x8(
// The first blocks have a tile more than the others.
// CHECK-LABEL: func.func private @winograd(
// CHECK:         %[[SOME:.*]] = arith.maxsi %blocks, %{{.*}} : index
// CHECK:         %[[FEWER:.*]] = arith.divui %total, %[[SOME]] : index
// CHECK:         %[[REST:.*]] = arith.remui %total, %[[SOME]] : index
// CHECK:         scf.for %[[BLOCK:.*]] = %{{.*}} to %[[SOME]] step
// CHECK:           %[[LONGER:.*]] = arith.cmpi slt, %[[BLOCK]], %[[REST]] : index
// CHECK:           %[[MORE:.*]] = arith.select %[[LONGER]], %{{.*}}, %{{.*}} : index
// CHECK:           %[[COUNT:.*]] = arith.addi %[[FEWER]], %[[MORE]] : index
// CHECK:           scf.for %{{.*}} = %{{.*}} to %[[COUNT]] step
// CHECK:             func.call @winograd_2_in_1to3(
// CHECK:           scf.if
// CHECK:             func.call @tile_6x8(
// CHECK:           scf.if
// CHECK:             func.call @tile_5x8(
// CHECK:           func.call @winograd_2_out(
