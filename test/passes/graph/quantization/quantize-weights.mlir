// RUN: mini-opt %s -p 'fold-constants,quantize-weights{to=int4 block=16},dce' | filecheck %s --check-prefixes=CHECK,INT4
// RUN: mini-opt %s -p 'fold-constants,quantize-weights{to=int3 symmetric=false embeddings=true},dce' | filecheck %s --check-prefixes=CHECK,INT3
// RUN: mini-opt %s -p 'fold-constants,quantize-weights{to=bf16},dce' | filecheck %s --check-prefixes=CHECK,BF16
// RUN: mini-opt %s -p 'fold-constants,quantize-weights,dce' | filecheck %s --check-prefixes=CHECK,NONE

// A product and a gather share one table, of 4 bits with a scale for each block. The largest magnitude is the end of the
// signed range, whichever its sign is. Without a type nothing is done.
// CHECK-LABEL: @shared
// INT4:          %[[W:.*]] = graph.weight {{.*}} : tensor<8x16xui8>
// INT4-NEXT:     %[[S:.*]] = graph.constant dense<{{\[\[}}1.000000e+00, -5.000000e-01],{{.*}} : tensor<8x2xf32>
// INT4-NEXT:     %[[Z:.*]] = graph.constant dense<8> : tensor<ui4>
// INT4:          graph.unpack_bits %{{.*}} {to = ui4, shape = array<i64: 8, 2, 16>}
// INT4:          %[[D:.*]] = graph.dequantize %{{.*}}, %{{.*}}, %[[Z]] : (tensor<8x2x16xui4>, tensor<8x2x1xf32>, tensor<ui4>)
// INT4-NEXT:     %[[R:.*]] = graph.reshape %[[D]] {shape = array<i64: 8, 32>}
// INT4-NEXT:     graph.matmul %x, %[[R]] {transpose_b}
// INT4:          graph.gather %{{.*}}, %i {axis = 0 : i64} : (tensor<8x16xui8>, tensor<3xi64>) -> tensor<3x16xui8>
// INT4:          graph.dequantize %{{.*}} : (tensor<3x2x16xui4>, tensor<3x2x1xf32>, tensor<ui4>)
// INT3:          graph.unpack_bits %{{.*}} {to = ui8, shape = array<i64: 8, 1, 32>, width = 3 : i64}
// INT3:          graph.dequantize %{{.*}} : (tensor<8x1x32xui8>, tensor<8x1x1xf32>, tensor<8x1x1xui8>)
// BF16:          %[[W:.*]] = graph.weight {{.*}} : tensor<8x32xbf16>
// BF16-NEXT:     %[[C:.*]] = graph.cast %[[W]] {to = f32}
// BF16-NEXT:     graph.matmul %x, %[[C]] {transpose_b}
// BF16:          graph.gather %{{.*}}, %i {axis = 0 : i64} : (tensor<8x32xbf16>, tensor<3xi64>) -> tensor<3x32xbf16>
// NONE:          graph.matmul %x, %{{.*}} : (tensor<5x32xf32>, tensor<8x32xf32>)
func.func @shared(%x: tensor<5x32xf32>, %i: tensor<3xi64>) -> (tensor<5x8xf32>, tensor<3x32xf32>) {
  %c = graph.constant dense<[[-8.0, 7.0, 1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0,
                              4.0, -3.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, -0.5, -1.0, -1.5, -2.0, -2.5, -3.0]]> : tensor<1x32xf32>
  %w = graph.broadcast_to %c {shape = array<i64: 8, 32>} : (tensor<1x32xf32>) -> tensor<8x32xf32>
  %y = graph.matmul %x, %w {transpose_b} : (tensor<5x32xf32>, tensor<8x32xf32>) -> tensor<5x8xf32>
  %g = graph.gather %w, %i {axis = 0 : i64} : (tensor<8x32xf32>, tensor<3xi64>) -> tensor<3x32xf32>
  func.return %y, %g : tensor<5x8xf32>, tensor<3x32xf32>
}

// A weight that is not transposed becomes so, since blocks lie along the depth; the last one is cut.
// CHECK-LABEL: @turned
// INT4:          graph.weight {{.*}} : tensor<3x24xui8>
// INT4:          %[[R:.*]] = graph.reshape %{{.*}} {shape = array<i64: 3, 48>}
// INT4-NEXT:     %[[C:.*]] = graph.slice %[[R]] {starts = array<i64: 0, 0>, stops = array<i64: 3, 40>, steps = array<i64: 1, 1>}
// INT4-NEXT:     graph.matmul %x, %[[C]] {transpose_b}
// BF16:          graph.weight {{.*}} : tensor<40x3xbf16>
// BF16:          graph.matmul %x, %{{.*}} : (tensor<5x40xf32>, tensor<40x3xf32>)
func.func @turned(%x: tensor<5x40xf32>) -> tensor<5x3xf32> {
  %c = graph.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>
  %w = graph.broadcast_to %c {shape = array<i64: 40, 3>} : (tensor<1x3xf32>) -> tensor<40x3xf32>
  %y = graph.matmul %x, %w : (tensor<5x40xf32>, tensor<40x3xf32>) -> tensor<5x3xf32>
  func.return %y : tensor<5x3xf32>
}

// Floats of 16 bits keep their type, and a widening cast behind it; they get no other type of as many bits.
// CHECK-LABEL: @narrow
// INT4:          %[[D:.*]] = graph.reshape %{{.*}} : (tensor<12x2x16xf16>) -> tensor<12x32xf16>
// INT4-NEXT:     %[[C:.*]] = graph.cast %[[D]] {to = f32}
// INT4-NEXT:     graph.matmul %x, %[[C]] {transpose_b}
// INT4:          graph.matmul %h, %{{.*}} {transpose_b} : (tensor<5x32xf16>, tensor<12x32xf16>)
// BF16:          graph.weight {{.*}} : tensor<32x12xf16>
func.func @narrow(%x: tensor<5x32xf32>, %h: tensor<5x32xf16>) -> (tensor<5x12xf32>, tensor<5x12xf16>) {
  %c = graph.constant dense<2.0> : tensor<1x12xf16>
  %w = graph.broadcast_to %c {shape = array<i64: 32, 12>} : (tensor<1x12xf16>) -> tensor<32x12xf16>
  %v = graph.cast %w {to = f32} : (tensor<32x12xf16>) -> tensor<32x12xf32>
  %y = graph.matmul %x, %v : (tensor<5x32xf32>, tensor<32x12xf32>) -> tensor<5x12xf32>
  %u = graph.matmul %h, %w : (tensor<5x32xf16>, tensor<32x12xf16>) -> tensor<5x12xf16>
  func.return %y, %u : tensor<5x12xf32>, tensor<5x12xf16>
}

// A table alone is rounded where it is asked for.
// CHECK-LABEL: @table
// INT4:          graph.gather %{{.*}} : (tensor<8x32xf32>, tensor<3xi64>)
// INT3:          graph.gather %{{.*}} : (tensor<8x12xui8>, tensor<3xi64>)
// BF16:          graph.gather %{{.*}} : (tensor<8x32xf32>, tensor<3xi64>)
func.func @table(%i: tensor<3xi64>) -> tensor<3x32xf32> {
  %c = graph.constant dense<1.0> : tensor<f32>
  %w = graph.broadcast_to %c {shape = array<i64: 8, 32>} : (tensor<f32>) -> tensor<8x32xf32>
  %n = graph.layer_norm %w, %w, %w {axis = 0 : i64, epsilon = 1.0 : f64} : (tensor<8x32xf32>, tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %g = graph.gather %w, %i {axis = 0 : i64} : (tensor<8x32xf32>, tensor<3xi64>) -> tensor<3x32xf32>
  func.return %g : tensor<3x32xf32>
}

// What is less deep than a block stays, and what is not finite.
// CHECK-LABEL: @left
// CHECK-NOT:     graph.dequantize
// CHECK-NOT:     bf16
func.func @left(%x: tensor<5x8xf32>, %v: tensor<5x32xf32>) -> (tensor<5x64xf32>, tensor<5x3xf32>) {
  %c = graph.constant dense<0x7F800000> : tensor<f32>
  %w = graph.broadcast_to %c {shape = array<i64: 8, 64>} : (tensor<f32>) -> tensor<8x64xf32>
  %u = graph.broadcast_to %c {shape = array<i64: 32, 3>} : (tensor<f32>) -> tensor<32x3xf32>
  %y = graph.matmul %x, %w : (tensor<5x8xf32>, tensor<8x64xf32>) -> tensor<5x64xf32>
  %z = graph.matmul %v, %u : (tensor<5x32xf32>, tensor<32x3xf32>) -> tensor<5x3xf32>
  func.return %y, %z : tensor<5x64xf32>, tensor<5x3xf32>
}
