// RUN: mini-opt %s --split-input-file -p lower-kernels | filecheck %s

// Heads are read in [tokens, heads * size] as they lie, and written back so.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%q: memref<1x6x2x8xf32>, %k: memref<1x2x5x8xf32>, %y: memref<1x6x2x8xf32>, %s: memref<512xi8>) {
    kernel.call @attention_0 ins(%q, %k : memref<1x6x2x8xf32>, memref<1x2x5x8xf32>) outs(%y : memref<1x6x2x8xf32>) scratch(%s : memref<512xi8>)
    func.return
  }

  graph.kernel @attention_0(%x: tensor<1x6x2x8xf32>, %k: tensor<1x2x5x8xf32>) -> tensor<1x6x2x8xf32> attributes {schedule = #kernel.schedule<"attention", {mr = 6, nr = 8, lanes = 4}>, interface = #kernel.interface<per_thread = 512>} {
    %q = graph.transpose %x {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x6x2x8xf32>) -> tensor<1x2x6x8xf32>
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<1x2x6x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x6x8xf32>
    %t = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x6x8xf32>) -> tensor<1x6x2x8xf32>
    graph.yield %t : tensor<1x6x2x8xf32>
  }
}

// CHECK-LABEL: func.func private @kernel_attention_0(
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
// CHECK-DAG:     %[[FIVE:.*]] = arith.constant 5 : index
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[ROW:.*]] = arith.constant 16 : index
// The keys are packed once for each head. A row of queries is 16 elements away from the next, and so is a row of the
// result. Both products walk panels; the second has its sums multiplied by a factor for each row.
// CHECK:         scf.for
// CHECK:           func.call @kernel_attention_0_pack_keys
// CHECK:           func.call @tile_6x8(%[[ONE]], %[[EIGHT]], %{{[0-9]+}}, %[[ROW]], %{{[0-9]+}}, %[[EIGHT]], %{{[0-9]+}}, %[[EIGHT]]
// CHECK:           func.call @kernel_attention_0_softmax
// CHECK:           func.call @tile_6x8_times(%[[ONE]], %[[FIVE]], %{{[0-9]+}}, %[[EIGHT]], %{{[0-9]+}}, %[[EIGHT]], %{{[0-9]+}}, %[[ROW]], %{{[0-9]+}}, %[[ONE]]
// CHECK-LABEL: func.func private @tile_6x8(

// -----

// While scores become weights, rows of the next head are asked for: queries, keys and values.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%q: memref<2x6x6x8xf32>, %k: memref<2x6x6x8xf32>, %v: memref<2x6x6x8xf32>, %y: memref<2x6x6x8xf32>, %s: memref<576xi8>) {
    kernel.call @attention_1 ins(%q, %k, %v : memref<2x6x6x8xf32>, memref<2x6x6x8xf32>, memref<2x6x6x8xf32>) outs(%y : memref<2x6x6x8xf32>) scratch(%s : memref<576xi8>)
    func.return
  }

  graph.kernel @attention_1(%q: tensor<2x6x6x8xf32>, %k: tensor<2x6x6x8xf32>, %v: tensor<2x6x6x8xf32>) -> tensor<2x6x6x8xf32> attributes {schedule = #kernel.schedule<"attention", {mr = 6, nr = 8, lanes = 4, ahead = 1}>, interface = #kernel.interface<per_thread = 576>} {
    %a = graph.attention %q, %k, %v {scale = 0.5 : f64} : (tensor<2x6x6x8xf32>, tensor<2x6x6x8xf32>, tensor<2x6x6x8xf32>) -> tensor<2x6x6x8xf32>
    graph.yield %a : tensor<2x6x6x8xf32>
  }
}

// CHECK-LABEL: func.func private @kernel_attention_1_softmax
// CHECK:         scf.for %[[I:.*]] =
// CHECK-COUNT-3:   memref.prefetch %{{[0-9]+}}[%[[I]], %{{.*}}], read, locality<3>, data
// CHECK-NOT:       memref.prefetch
