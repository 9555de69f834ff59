// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Twelve rows in blocks of one tile meet two panels. The first panel's tile asks for the next tile's rows, where there
// is more than one block: another row with each of a line's 16 elements.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 64, threads = 1>} {
  func.func @main(%x: memref<12x32xf32>, %w: memref<2x32x8xf32>, %y: memref<12x16xf32>) {
    kernel.call @matmul_0 ins(%x, %w : memref<12x32xf32>, memref<2x32x8xf32>) outs(%y : memref<12x16xf32>)
    func.return
  }

  graph.kernel @matmul_0(%a: tensor<12x32xf32>, %p: tensor<2x32x8xf32>) -> tensor<12x16xf32> attributes {schedule = #kernel.schedule<"blocked_panels", {mr = 6, nr = 8, lanes = 4, inline = 1, group = 2, tall = 1, ahead = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>, constant_operands = array<i64: 1>} {
    %b = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 32, 16>} : (tensor<2x32x8xf32>) -> tensor<32x16xf32>
    %m = graph.matmul %a, %b : (tensor<12x32xf32>, tensor<32x16xf32>) -> tensor<12x16xf32>
    graph.yield %m : tensor<12x16xf32>
  }
}

// CHECK-LABEL: func.func private @tile_6x8_asking
// CHECK:         scf.for
// CHECK:           scf.for %[[I:[0-9]+]] =
// CHECK:           arith.remui %[[I]]
// CHECK:           memref.prefetch
// CHECK-NOT:       memref.prefetch
// CHECK:           scf.yield
// CHECK-LABEL: func.func private @blocked_panels
// CHECK:         %[[FIRST:[0-9]+]] = arith.cmpi eq
// CHECK:         %[[SEVERAL:[0-9]+]] = arith.cmpi sgt
// CHECK:         scf.if
// CHECK:           func.call @tile_6x8_asking(
// CHECK:         } else {
// CHECK:           func.call @tile_6x8(
