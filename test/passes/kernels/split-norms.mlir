// RUN: mini-opt %s --split-input-file -p split-norms | filecheck %s
// RUN: mini-opt %s --split-input-file -p split-norms,form-kernels | filecheck %s --check-prefix=KERNELS

// Moments come first of all that reads the rows; the product has a weight and a bias with the norm's in them, and what the
// rows are added to normalises them itself.
// CHECK-LABEL: @main
// CHECK:         %[[P:.*]] = graph.matmul
// CHECK-NEXT:    %[[M:.*]] = graph.row_moments %[[P]] {piece = 32 : i64}
// CHECK:         %[[N:.*]] = graph.normalize %[[P]], %[[M]] {epsilon = 1.000000e-05 : f64, centred}
// CHECK-NEXT:    %[[W:.*]] = graph.weight
// CHECK-NEXT:    %[[B:.*]] = graph.weight
// CHECK-NEXT:    %[[U:.*]] = graph.matmul %[[N]], %[[W]]
// CHECK-NEXT:    graph.add %[[U]], %[[B]]
// CHECK:         %[[O:.*]] = graph.normalize %[[P]], %[[M]]
// CHECK-NEXT:    %[[S:.*]] = graph.mul %[[O]], %{{.*}}
// CHECK-NEXT:    %[[Y:.*]] = graph.add %[[S]], %{{.*}}
// CHECK-NEXT:    graph.add %{{.*}}, %[[Y]]
// CHECK-NOT:     graph.layer_norm
// KERNELS-LABEL: @main
// KERNELS:         %[[P:.*]], %[[M:.*]] = graph.call @matmul_row_moments_0
// KERNELS:         %[[U:.*]] = graph.call @matmul_relu_0(%[[P]], %[[M]],
// KERNELS:         graph.call @matmul_add_0(%[[U]], %{{.*}}, %[[P]], %[[M]])
// KERNELS-NEXT:    func.return
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp16">} {
  func.func @main(%x: tensor<1x40x64xf32>) -> tensor<1x40x64xf32> {
    %w = graph.constant dense<0.5> : tensor<64x64xf32>
    %s = graph.constant dense<0.5> : tensor<64xf32>
    %b = graph.constant dense<0.5> : tensor<64xf32>
    %p = graph.matmul %x, %w : (tensor<1x40x64xf32>, tensor<64x64xf32>) -> tensor<1x40x64xf32>
    %y = graph.layer_norm %p, %s, %b {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<1x40x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x40x64xf32>
    %v = graph.constant dense<0.5> : tensor<64x64xf32>
    %u = graph.matmul %y, %v : (tensor<1x40x64xf32>, tensor<64x64xf32>) -> tensor<1x40x64xf32>
    %r = graph.relu %u : tensor<1x40x64xf32>
    %t = graph.constant dense<0.5> : tensor<64x64xf32>
    %q = graph.matmul %r, %t : (tensor<1x40x64xf32>, tensor<64x64xf32>) -> tensor<1x40x64xf32>
    %z = graph.add %q, %y : tensor<1x40x64xf32>
    func.return %z : tensor<1x40x64xf32>
  }
}

// -----

// A bias that is there takes the norm's in; a reshape that keeps rows whole is looked through.
// CHECK-LABEL: @main
// CHECK:         %[[P:.*]] = graph.matmul
// CHECK-NEXT:    %[[M:.*]] = graph.row_moments %[[P]]
// CHECK:         %[[R:.*]] = graph.reshape %[[P]] {shape = array<i64: 40, 1, 64>}
// CHECK-NEXT:    %[[L:.*]] = graph.reshape %[[M]] {shape = array<i64: 40, 1, 2, 2>}
// CHECK-NEXT:    %[[N:.*]] = graph.normalize %[[R]], %[[L]]
// CHECK:         %[[U:.*]] = graph.matmul %[[N]], %{{.*}} {transpose_b}
// CHECK-NEXT:    graph.add %[[U]], %{{.*}}
// CHECK-NEXT:    func.return
// KERNELS-LABEL: @main
// KERNELS:         graph.call @matmul_row_moments_0
// KERNELS:         graph.call @matmul_add_0
// KERNELS-NEXT:    func.return
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "tf32">} {
  func.func @main(%x: tensor<1x40x64xf32>) -> tensor<40x1x64xf32> {
    %w = graph.constant dense<0.5> : tensor<64x64xf32>
    %s = graph.constant dense<0.5> : tensor<64xf32>
    %b = graph.constant dense<0.5> : tensor<64xf32>
    %p = graph.matmul %x, %w : (tensor<1x40x64xf32>, tensor<64x64xf32>) -> tensor<1x40x64xf32>
    %y = graph.layer_norm %p, %s, %b {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<1x40x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<1x40x64xf32>
    %r = graph.reshape %y {shape = array<i64: 40, 1, 64>} : (tensor<1x40x64xf32>) -> tensor<40x1x64xf32>
    %v = graph.constant dense<0.5> : tensor<64x64xf32>
    %u = graph.matmul %r, %v {transpose_b} : (tensor<40x1x64xf32>, tensor<64x64xf32>) -> tensor<40x1x64xf32>
    %c = graph.constant dense<0.5> : tensor<64xf32>
    %z = graph.add %u, %c : (tensor<40x1x64xf32>, tensor<64xf32>) -> tensor<40x1x64xf32>
    func.return %z : tensor<40x1x64xf32>
  }
}

// -----

// An output of the model must be normalised, whoever else reads it; so must what few rows are multiplied by, for which
// other schedules are faster.
// CHECK-LABEL: @main
// CHECK-COUNT-2: graph.layer_norm
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp16">} {
  func.func @main(%x: tensor<40x64xf32>, %f: tensor<4x64xf32>) -> (tensor<40x64xf32>, tensor<40x64xf32>, tensor<4x64xf32>) {
    %w = graph.constant dense<0.5> : tensor<64x64xf32>
    %s = graph.constant dense<0.5> : tensor<64xf32>
    %p = graph.matmul %x, %w : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %y = graph.layer_norm %p, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<40x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<40x64xf32>
    %v = graph.constant dense<0.5> : tensor<64x64xf32>
    %u = graph.matmul %y, %v : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %w2 = graph.constant dense<0.5> : tensor<64x64xf32>
    %p2 = graph.matmul %f, %w2 : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    %y2 = graph.layer_norm %p2, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<4x64xf32>
    %v2 = graph.constant dense<0.5> : tensor<64x64xf32>
    %u2 = graph.matmul %y2, %v2 : (tensor<4x64xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
    func.return %y, %u, %u2 : tensor<40x64xf32>, tensor<40x64xf32>, tensor<4x64xf32>
  }
}

// -----

// Products in f32 don't normalise.
// CHECK-LABEL: @main
// CHECK: graph.layer_norm
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a" computing "fp32">} {
  func.func @main(%x: tensor<40x64xf32>) -> tensor<40x64xf32> {
    %w = graph.constant dense<0.5> : tensor<64x64xf32>
    %s = graph.constant dense<0.5> : tensor<64xf32>
    %p = graph.matmul %x, %w : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    %y = graph.layer_norm %p, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<40x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<40x64xf32>
    %v = graph.constant dense<0.5> : tensor<64x64xf32>
    %u = graph.matmul %y, %v : (tensor<40x64xf32>, tensor<64x64xf32>) -> tensor<40x64xf32>
    func.return %u : tensor<40x64xf32>
  }
}
