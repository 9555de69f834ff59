// RUN: mini-opt %s -p lower-kernels | filecheck %s

// 20 queries in groups of two tiles; 40 keys in blocks of 16.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 4096, threads = 1>} {
  func.func @main(%q: memref<1x2x20x8xf32>, %k: memref<1x2x40x8xf32>, %y: memref<1x2x20x8xf32>, %s: memref<2560xi8>) {
    kernel.call @attention_0 ins(%q, %k : memref<1x2x20x8xf32>, memref<1x2x40x8xf32>) outs(%y : memref<1x2x20x8xf32>) scratch(%s : memref<2560xi8>)
    func.return
  }

  graph.kernel @attention_0(%q: tensor<1x2x20x8xf32>, %k: tensor<1x2x40x8xf32>) -> tensor<1x2x20x8xf32> attributes {schedule = #kernel.schedule<"attention_blocks", {mr = 5, nr = 8, lanes = 4, block = 16, tall = 2}>, interface = #kernel.interface<per_thread = 2560>} {
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : (tensor<1x2x20x8xf32>, tensor<1x2x40x8xf32>, tensor<1x2x40x8xf32>) -> tensor<1x2x20x8xf32>
    graph.yield %a : tensor<1x2x20x8xf32>
  }
}

// Keys are packed once for each head. A group has met nothing at first; then each of its tiles meets a block before the
// next block comes, and what was summed up is multiplied by a factor for each row.
// CHECK-LABEL: func.func private @kernel_attention_0(
// CHECK-DAG:     %[[BLOCK:.*]] = arith.constant 16 : index
// CHECK:         scf.for
// CHECK:           func.call @kernel_attention_0_pack_keys
// CHECK:           scf.for
// CHECK:             func.call @kernel_attention_0_begin
// CHECK:             scf.for %{{.*}} = %{{.*}} to %{{.*}} step %[[BLOCK]]
// CHECK:               scf.for
// CHECK:                 func.call @tile_5x8(
// CHECK:                 func.call @kernel_attention_0_softmax
// CHECK:                 func.call @tile_5x8_onto
// CHECK:             func.call @kernel_attention_0_finish
