// RUN: mini-opt %s -p merge-products | filecheck %s

// Two products of as many rows as there are tokens are one; its parts are all of these rows.
// CHECK-LABEL: @heads
// CHECK:         %[[P:.*]] = graph.matmul %x, %{{.*}} : (tensor<(batch)x(tokens)x8xf32>, tensor<8x10xf32>) -> tensor<(batch)x(tokens)x10xf32>
// CHECK-NEXT:    %[[Q:.*]] = graph.slice %[[P]] {starts = array<i64: 0, 0, 0>, stops = array<i64: (batch), (tokens), 4>
// CHECK:         graph.slice %[[P]] {starts = array<i64: 0, 0, 4>, stops = array<i64: (batch), (tokens), 10>
// CHECK-NOT:     graph.matmul
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @heads(%x: tensor<(batch)x(tokens)x8xf32>) -> (tensor<(batch * tokens)x4xf32>, tensor<(batch * tokens)x6xf32>) {
    %wq = graph.weight #graph.blob<"", 0, 128, "a"> : tensor<8x4xf32>
    %q = graph.matmul %x, %wq : (tensor<(batch)x(tokens)x8xf32>, tensor<8x4xf32>) -> tensor<(batch)x(tokens)x4xf32>
    %y = graph.reshape %q {shape = array<i64: (batch * tokens), 4>} : (tensor<(batch)x(tokens)x4xf32>) -> tensor<(batch * tokens)x4xf32>
    %wk = graph.weight #graph.blob<"", 0, 192, "c"> : tensor<8x6xf32>
    %k = graph.matmul %x, %wk : (tensor<(batch)x(tokens)x8xf32>, tensor<8x6xf32>) -> tensor<(batch)x(tokens)x6xf32>
    %z = graph.reshape %k {shape = array<i64: (batch * tokens), 6>} : (tensor<(batch)x(tokens)x6xf32>) -> tensor<(batch * tokens)x6xf32>
    func.return %y, %z : tensor<(batch * tokens)x4xf32>, tensor<(batch * tokens)x6xf32>
  }
}
