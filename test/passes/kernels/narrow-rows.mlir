// RUN: mini-opt %s --split-input-file -p narrow-rows | filecheck %s
// RUN: mini-opt %s --split-input-file -p narrow-rows,form-kernels | filecheck %s --check-prefix=KERNELS

// What only products read is stored as they round it.
// CHECK-LABEL: @main
// CHECK:         %[[R:.*]] = graph.relu
// CHECK-NEXT:    %[[H:.*]] = graph.cast %[[R]] {to = f16}
// CHECK-NEXT:    %[[A:.*]] = graph.cast %[[H]] {to = f32}
// CHECK-NEXT:    graph.matmul %[[A]],
// CHECK-NEXT:    %[[B:.*]] = graph.cast %[[H]] {to = f32}
// CHECK-NEXT:    graph.matmul %[[B]],
// KERNELS-LABEL: @main
// KERNELS:         %[[H:.*]] = graph.call @matmul_cast_0({{.*}} -> tensor<40x64xf16>
// KERNELS-NEXT:    graph.call @matmul_0(%[[H]],
// KERNELS-NEXT:    graph.call @matmul_0(%[[H]],
// KERNELS-NEXT:    func.return
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp16">} {
  func.func @main(%x: tensor<40x64xf32>) -> (tensor<40x64xf32>, tensor<40x64xf32>) {
    %w = graph.weight #graph.blob<"", 0, 16384, "a"> : tensor<64x64xf32>
    %v = graph.weight #graph.blob<"", 0, 16384, "b"> : tensor<64x64xf32>
    %u = graph.weight #graph.blob<"", 0, 16384, "c"> : tensor<64x64xf32>
    %p = graph.matmul %x, %w : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %r = graph.relu %p : tensor<40x64xf32>
    %y = graph.matmul %r, %v : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %z = graph.matmul %r, %u : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    func.return %y, %z : tensor<40x64xf32>, tensor<40x64xf32>
  }
}

// -----

// What something else reads, and what tensor cores read with more bits, stays.
// CHECK-LABEL: @main
// CHECK-NOT:     graph.cast
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "bf16">} {
  func.func @main(%x: tensor<40x64xf32>) -> (tensor<40x64xf32>, tensor<40x64xf32>) {
    %w = graph.weight #graph.blob<"", 0, 16384, "a"> : tensor<64x64xf32>
    %v = graph.weight #graph.blob<"", 0, 16384, "b"> : tensor<64x64xf32>
    %r = graph.matmul %x, %w : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %y = graph.matmul %r, %v : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    func.return %r, %y : tensor<40x64xf32>, tensor<40x64xf32>
  }
}

// -----

// CHECK-LABEL: @main
// CHECK-NOT:     graph.cast
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "tf32">} {
  func.func @main(%x: tensor<40x64xf32>) -> tensor<40x64xf32> {
    %w = graph.weight #graph.blob<"", 0, 16384, "a"> : tensor<64x64xf32>
    %v = graph.weight #graph.blob<"", 0, 16384, "b"> : tensor<64x64xf32>
    %r = graph.matmul %x, %w : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %y = graph.matmul %r, %v : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    func.return %y : tensor<40x64xf32>
  }
}

// -----

// So is an attention's result, in front of a reshape.
// CHECK-LABEL: @main
// CHECK:         %[[T:.*]] = graph.transpose
// CHECK-NEXT:    %[[H:.*]] = graph.cast %[[T]] {to = f16}
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[H]]
// CHECK-NEXT:    %[[A:.*]] = graph.cast %[[R]] {to = f32}
// CHECK-NEXT:    graph.matmul %[[A]],
// KERNELS-LABEL: @main
// KERNELS:         %[[H:.*]] = graph.call @attention_cast_0({{.*}} -> tensor<1x40x2x32xf16>
// KERNELS-NEXT:    %[[R:.*]] = graph.reshape %[[H]]
// KERNELS-NEXT:    graph.call @matmul_0(%[[R]],
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp16">} {
  func.func @main(%q: tensor<1x2x40x32xf32>) -> tensor<40x64xf32> {
    %w = graph.weight #graph.blob<"", 0, 16384, "a"> : tensor<64x64xf32>
    %a = graph.attention %q, %q, %q {scale = 0.2 : f64} : tensor<1x2x40x32xf32>
    %t = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x40x32xf32>) -> tensor<1x40x2x32xf32>
    %r = graph.reshape %t {shape = array<i64: 40, 64>} : (tensor<1x40x2x32xf32>) -> tensor<40x64xf32>
    %y = graph.matmul %r, %w : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    func.return %y : tensor<40x64xf32>
  }
}
