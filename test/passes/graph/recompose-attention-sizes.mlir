// RUN: mini-opt %s -p recompose-attention | filecheck %s

// Attention of any number of tokens to those of any past and to themselves.
// CHECK-LABEL: @main
// CHECK-NEXT:    graph.attention %q, %k, %v {{.*}} : (tensor<(batch)x2x(tokens)x4xf32>, tensor<(batch)x2x(past + tokens)x4xf32>, tensor<(batch)x2x(past + tokens)x4xf32>) -> tensor<(batch)x2x(tokens)x4xf32>
// CHECK-NEXT:    func.return
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64], dim past = 0 in [0, 100]>} {
  func.func @main(%q: tensor<(batch)x2x(tokens)x4xf32>, %k: tensor<(batch)x2x(past + tokens)x4xf32>, %v: tensor<(batch)x2x(past + tokens)x4xf32>) -> tensor<(batch)x2x(tokens)x4xf32> {
    %0 = graph.matmul %q, %k {transpose_b} : (tensor<(batch)x2x(tokens)x4xf32>, tensor<(batch)x2x(past + tokens)x4xf32>) -> tensor<(batch)x2x(tokens)x(past + tokens)xf32>
    %1 = graph.softmax %0 {axis = 3 : i64} : tensor<(batch)x2x(tokens)x(past + tokens)xf32>
    %2 = graph.matmul %1, %v : (tensor<(batch)x2x(tokens)x(past + tokens)xf32>, tensor<(batch)x2x(past + tokens)x4xf32>) -> tensor<(batch)x2x(tokens)x4xf32>
    func.return %2 : tensor<(batch)x2x(tokens)x4xf32>
  }
}
