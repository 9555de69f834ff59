// A row by a block-quantised matrix: one kernel, whose warps dequantise words of 4 bytes of four columns in registers.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK-LABEL: gpu.func @matmul_0(%{{.*}}: memref<64x128xui8>, %{{.*}}: memref<64x8xf32>, %{{.*}}: memref<1x256xf32>
// CHECK: vector.load {{.*}} : memref<8192xui8{{.*}}, vector<4xui8>
// CHECK: arith.ori
// CHECK: arith.bitcast %{{.*}} : i32 to f32
// CHECK: math.fma
// CHECK: gpu.shuffle xor
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<1x256xf32>) -> tensor<1x64xf32> {
    %w = graph.constant dense<7> : tensor<64x128xui8>
    %s = graph.constant dense<0.5> : tensor<64x8xf32>
    %m = graph.block_weight %w, %s {bits = 4 : i64, block = 32 : i64, depth = 256 : i64, middle = 8 : i64} : (tensor<64x128xui8>, tensor<64x8xf32>) -> tensor<64x256xf32>
    %y = graph.matmul %x, %m {transpose_b} : (tensor<1x256xf32>, tensor<64x256xf32>) -> tensor<1x64xf32>
    func.return %y : tensor<1x64xf32>
  }
}
