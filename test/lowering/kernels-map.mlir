// RUN: mini-opt %s -p lower-kernels | mini-opt | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 256, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%a: memref<4x8x8xf32>, %b: memref<4x8x8xf32>, %row: memref<8xf32>, %t: memref<8x32xf32>, %c: memref<4x16x8xf32>, %s: memref<4x4x8xf32>, %p: memref<4x8x3xf32>, %seven: memref<4x7xf32>, %of_seven: memref<7xf32>, %u: memref<16x13xf32>, %v: memref<13x16xf32>) {
    kernel.call @add ins(%a, %b : memref<4x8x8xf32>, memref<4x8x8xf32>) outs(%b : memref<4x8x8xf32>)
    kernel.call @add_row ins(%a, %row : memref<4x8x8xf32>, memref<8xf32>) outs(%b : memref<4x8x8xf32>)
    kernel.call @transpose ins(%a : memref<4x8x8xf32>) outs(%t : memref<8x32xf32>)
    kernel.call @concat ins(%a, %b : memref<4x8x8xf32>, memref<4x8x8xf32>) outs(%c : memref<4x16x8xf32>)
    kernel.call @halve ins(%a : memref<4x8x8xf32>) outs(%s : memref<4x4x8xf32>)
    kernel.call @colours ins(%a : memref<4x8x8xf32>) outs(%p : memref<4x8x3xf32>)
    kernel.call @ends ins(%seven, %of_seven : memref<4x7xf32>, memref<7xf32>) outs(%seven : memref<4x7xf32>)
    kernel.call @uneven ins(%u : memref<16x13xf32>) outs(%v : memref<13x16xf32>)
    func.return
  }

  // One flat loop, in place: the operand and the result are one argument.
  // CHECK-LABEL: func.func private @kernel_add(
  // CHECK-SAME:    %[[A:.*]]: memref<4x8x8xf32>, %[[B:.*]]: memref<4x8x8xf32>, %{{.*}}: index, %{{.*}}: index)
  // CHECK:         scf.for
  // CHECK-NOT:     scf.for
  // CHECK:           vector.load {{.*}} vector<32xf32>
  // CHECK:           arith.addf
  // CHECK:           vector.store
  graph.kernel @add(%a: tensor<4x8x8xf32>, %b: tensor<4x8x8xf32>) -> tensor<4x8x8xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<inplace = [[1, 0]]>} {
    %r = graph.add %a, %b : tensor<4x8x8xf32>
    graph.yield %r : tensor<4x8x8xf32>
  }

  // The row that is added is a vector of its own per row, so only the outer axes merge.
  // CHECK-LABEL: func.func private @kernel_add_row(
  // CHECK:         scf.for
  // CHECK:           vector.load {{.*}} vector<8xf32>
  // CHECK:           vector.load {{.*}} vector<8xf32>
  // CHECK:           arith.addf
  graph.kernel @add_row(%a: tensor<4x8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8x8xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.add %a, %b : (tensor<4x8x8xf32>, tensor<8xf32>) -> tensor<4x8x8xf32>
    graph.yield %r : tensor<4x8x8xf32>
  }

  // Tiles of 8 x 8: eight loads, three rounds of eight shuffles, eight stores; no division is left of the reshape.
  // CHECK-LABEL: func.func private @kernel_transpose(
  // CHECK-NOT:     arith.remui
  // CHECK-COUNT-8: vector.load {{.*}} vector<8xf32>
  // CHECK-COUNT-24: vector.shuffle
  // CHECK-COUNT-8: vector.store
  // CHECK:         func.return
  graph.kernel @transpose(%a: tensor<4x8x8xf32>) -> tensor<8x32xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %m = graph.reshape %a {shape = array<i64: 32, 8>} : (tensor<4x8x8xf32>) -> tensor<32x8xf32>
    %r = graph.transpose %m {permutation = array<i64: 1, 0>} : (tensor<32x8xf32>) -> tensor<8x32xf32>
    graph.yield %r : tensor<8x32xf32>
  }

  // A loop for each operand, and no question inside.
  // CHECK-LABEL: func.func private @kernel_concat(
  // CHECK-NOT:     scf.if
  // CHECK:         vector.store
  // CHECK-NOT:     scf.if
  // CHECK:         math.absf
  // CHECK:         vector.store
  // CHECK:         func.return
  graph.kernel @concat(%a: tensor<4x8x8xf32>, %b: tensor<4x8x8xf32>) -> tensor<4x16x8xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %n = graph.abs %b : tensor<4x8x8xf32>
    %r = graph.concat %a, %n {axis = 1 : i64} : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x16x8xf32>
    graph.yield %r : tensor<4x16x8xf32>
  }

  // Every second row.
  // CHECK-LABEL: func.func private @kernel_halve(
  // CHECK:         vector.load {{.*}} vector<8xf32>
  // CHECK-NOT:     vector.shuffle
  // CHECK:         func.return
  graph.kernel @halve(%a: tensor<4x8x8xf32>) -> tensor<4x4x8xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.slice %a {starts = array<i64: 0, 1, 0>, stops = array<i64: 4, 8, 8>, steps = array<i64: 1, 2, 1>} : (tensor<4x8x8xf32>) -> tensor<4x4x8xf32>
    graph.yield %r : tensor<4x4x8xf32>
  }

  // Three values side by side are three vectors, interleaved and stored as one.
  // CHECK-LABEL: func.func private @kernel_colours(
  // CHECK:         vector.store {{.*}} vector<24xf32>
  // CHECK-NOT:     memref.store
  // CHECK:         func.return
  graph.kernel @colours(%a: tensor<4x8x8xf32>) -> tensor<4x8x3xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %s = graph.slice %a {starts = array<i64: 0, 0, 0>, stops = array<i64: 4, 3, 8>, steps = array<i64: 1, 1, 1>} : (tensor<4x8x8xf32>) -> tensor<4x3x8xf32>
    %r = graph.transpose %s {permutation = array<i64: 0, 2, 1>} : (tensor<4x3x8xf32>) -> tensor<4x8x3xf32>
    graph.yield %r : tensor<4x8x3xf32>
  }

  // The end of a row is stored in parts of 4, 2 and 1: in place, a masked store would delay the next row's load.
  // CHECK-LABEL: func.func private @kernel_ends(
  // CHECK:         vector.maskedload
  // CHECK:         vector.store {{.*}} vector<4xf32>
  // CHECK:         vector.store {{.*}} vector<2xf32>
  // CHECK:         memref.store
  // CHECK-NOT:     vector.maskedstore
  graph.kernel @ends(%a: tensor<4x7xf32>, %b: tensor<7xf32>) -> tensor<4x7xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.add %a, %b : (tensor<4x7xf32>, tensor<7xf32>) -> tensor<4x7xf32>
    graph.yield %r : tensor<4x7xf32>
  }

  // 13 rows are 8 in tiles of 8 x 8, 4 in tiles of 4 x 4, and one element by element.
  // CHECK-LABEL: func.func private @kernel_uneven(
  // CHECK:         vector.shuffle {{.*}} : vector<8xf32>, vector<8xf32>
  // CHECK-COUNT-4: vector.store {{.*}}, vector<4xf32>
  // CHECK-NOT:     vector.
  // CHECK:         memref.store
  graph.kernel @uneven(%a: tensor<16x13xf32>) -> tensor<13x16xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<16x13xf32>) -> tensor<13x16xf32>
    graph.yield %r : tensor<13x16xf32>
  }
}
