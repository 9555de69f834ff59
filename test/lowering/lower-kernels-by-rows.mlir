// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Threads that share out rows have the same tiles of every panel; else each has a part of all panels' tiles in one.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  func.func @main() {
    func.return
  }

  func.func @stage_0(%x: memref<64x8xf32>, %w: memref<4x8x8xf32>, %y: memref<64x32xf32>, %share: index, %shares: index, %seat: index) {
    kernel.call @by_rows ins(%x, %w : memref<64x8xf32>, memref<4x8x8xf32>) outs(%y : memref<64x32xf32>)
    kernel.call @by_panels ins(%x, %w : memref<64x8xf32>, memref<4x8x8xf32>) outs(%y : memref<64x32xf32>)
    func.return
  }

  graph.kernel @by_rows(%a: tensor<64x8xf32>, %p: tensor<4x8x8xf32>) -> tensor<64x32xf32> attributes {schedule = #kernel.schedule<"panels_by_rows", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
    %b = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 8, 32>} : (tensor<4x8x8xf32>) -> tensor<8x32xf32>
    %m = graph.matmul %a, %b : (tensor<64x8xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
    graph.yield %m : tensor<64x32xf32>
  }

  graph.kernel @by_panels(%a: tensor<64x8xf32>, %p: tensor<4x8x8xf32>) -> tensor<64x32xf32> attributes {schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>, interface = #kernel.interface<packed = [1 : #kernel.packing<"panels", {nr = 8}>]>} {
    %b = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 8, 32>} : (tensor<4x8x8xf32>) -> tensor<8x32xf32>
    %m = graph.matmul %a, %b : (tensor<64x8xf32>, tensor<8x32xf32>) -> tensor<64x32xf32>
    graph.yield %m : tensor<64x32xf32>
  }
}

// CHECK-LABEL: func.func private @panels(
// CHECK:         scf.for %{{.*}} to %panels
// CHECK:           %[[LOW:.*]] = arith.muli %thread, %nest_classes_count
// CHECK:           arith.divui %[[LOW]], %threads
// CHECK:           scf.for
// CHECK:             func.call @tile_4x8(
// CHECK-LABEL: func.func private @panels_2(
// CHECK:         %[[ALL:.*]] = arith.muli %panels, %nest_classes_count
// CHECK:         arith.muli %thread, %[[ALL]]
// CHECK:         scf.for
// CHECK-NOT:     scf.for
// CHECK:         func.call @tile_4x8(
