// RUN: mini-opt %s -p lower-kernels | filecheck %s

// A right-hand side that is computed is packed, a panel at a time, into the scratch of the seat that needs it.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  func.func @main() {
    func.return
  }

  func.func @stage_0(%x: memref<4x8xf32>, %b: memref<12x8xf32>, %c: memref<8x12xf32>, %y: memref<4x12xf32>, %s: memref<512xi8>, %share: index, %shares: index, %seat: index) {
    kernel.call @matmul_0 ins(%x, %b : memref<4x8xf32>, memref<12x8xf32>) outs(%y : memref<4x12xf32>) scratch(%s : memref<512xi8>)
    kernel.call @matmul_1 ins(%x, %c : memref<4x8xf32>, memref<8x12xf32>) outs(%y : memref<4x12xf32>) scratch(%s : memref<512xi8>)
    func.return
  }

  graph.kernel @matmul_0(%a: tensor<4x8xf32>, %b: tensor<12x8xf32>) -> tensor<4x12xf32> attributes {schedule = #kernel.schedule<"computed_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<per_thread = 256>} {
    %m = graph.matmul %a, %b {transpose_b} : (tensor<4x8xf32>, tensor<12x8xf32>) -> tensor<4x12xf32>
    graph.yield %m : tensor<4x12xf32>
  }

  graph.kernel @matmul_1(%a: tensor<4x8xf32>, %b: tensor<8x12xf32>) -> tensor<4x12xf32> attributes {schedule = #kernel.schedule<"computed_panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<per_thread = 256>} {
    %m = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
    graph.yield %m : tensor<4x12xf32>
  }
}

// CHECK-LABEL: func.func private @kernel_matmul_0(
// CHECK-SAME:    %[[X:[0-9]+]]: memref<4x8xf32>, %[[B:[0-9]+]]: memref<12x8xf32>, %{{[0-9]+}}: memref<4x12xf32>, %[[S:[0-9]+]]: memref<512xi8>, %{{[0-9]+}}: index, %{{[0-9]+}}: index, %[[SEAT:[0-9]+]]: index
// CHECK:         %[[BYTES:.*]] = arith.constant 256 : index
// CHECK:         %[[AT:.*]] = arith.muli %[[SEAT]], %[[BYTES]]
// CHECK-NEXT:    %[[PANEL:.*]] = memref.view %[[S]][%[[AT]]][] : memref<512xi8> to memref<8x8xf32>
// Columns are contiguous: squares of 4 x 4 are transposed on the way.
// CHECK-COUNT-8: vector.shuffle
// CHECK-COUNT-4: vector.store %{{.*}}, %[[PANEL]]
// CHECK-NOT:     memref.store
// The twelve columns are a panel of eight and one of four.
// CHECK:         scf.if
// CHECK:           func.call @tile_4x4
// CHECK:         } else {
// CHECK:           func.call @tile_4x8

// Four rows are one tile: the panel of eight is read where it is, its rows 12 elements apart; that of four is packed.
// CHECK-LABEL: func.func private @kernel_matmul_1(
// CHECK-SAME:    %[[C:[0-9]+]]: memref<8x12xf32>
// CHECK:         scf.if
// CHECK:           vector.maskedload %[[ROWS:[0-9a-z]+]][
// CHECK:           func.call @tile_4x4
// CHECK:         } else {
// CHECK-NOT:       vector.
// CHECK:           func.call @tile_4x8
