// RUN: mini-opt %s -p form-kernels | filecheck %s

builtin.module {
  // Casts of keys and values to the queries' type join the attention, and views in front of them; not a cast that
  // others read, too, and none of a wider type.
  // CHECK-LABEL: @main
  // CHECK-NEXT:    graph.call @attention_0(%v, %k, %q)
  // CHECK:         graph.call @cast_0(%k)
  // CHECK:         graph.call @cast_1(%w)
  // CHECK-NEXT:    graph.call @attention_1(%q, %{{.*}}, %{{.*}})
  func.func @main(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x9x8xf16>, %v: tensor<1x9x2x8xi8>, %w: tensor<1x2x9x8xf64>) -> (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x9x8xf32>) {
    %k0 = graph.cast %k {to = f32} : (tensor<1x2x9x8xf16>) -> tensor<1x2x9x8xf32>
    %t = graph.transpose %v {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x9x2x8xi8>) -> tensor<1x2x9x8xi8>
    %v0 = graph.cast %t {to = f32} : (tensor<1x2x9x8xi8>) -> tensor<1x2x9x8xf32>
    %a = graph.attention %q, %k0, %v0 {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) -> tensor<1x2x4x8xf32>
    %k1 = graph.cast %k {to = f32, loose} : (tensor<1x2x9x8xf16>) -> tensor<1x2x9x8xf32>
    %w1 = graph.cast %w {to = f32} : (tensor<1x2x9x8xf64>) -> tensor<1x2x9x8xf32>
    %b = graph.attention %q, %k1, %w1 {scale = 1.0 : f64} : (tensor<1x2x4x8xf32>, tensor<1x2x9x8xf32>, tensor<1x2x9x8xf32>) -> tensor<1x2x4x8xf32>
    func.return %a, %b, %k1 : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x9x8xf32>
  }
}

// CHECK:      graph.kernel @attention_0
// CHECK:        graph.transpose
// CHECK-DAG:    graph.cast %{{.*}} {to = f32} : (tensor<1x2x9x8xi8>)
// CHECK-DAG:    graph.cast %{{.*}} {to = f32} : (tensor<1x2x9x8xf16>)
// CHECK:        graph.attention
