// RUN: mini-opt %s -p form-kernels | filecheck %s

// A residual of the very shape joins its product; a reshape to a product of sizes renames bytes and stays. Kernels that
// are equal but for their sizes are two.
// CHECK-LABEL: func.func @main
// CHECK:         %[[K:.*]] = graph.call @matmul_add_0(%x, %{{.*}}) : (tensor<(batch)x(tokens)x8xf32>, tensor<8x8xf32>) -> tensor<(batch)x(tokens)x8xf32>
// CHECK-NEXT:    %[[R:.*]] = graph.reshape %[[K]] {shape = array<i64: (batch * tokens), 8>}
// CHECK-NEXT:    graph.call @exp_0(%[[R]]) : (tensor<(batch * tokens)x8xf32>) -> tensor<(batch * tokens)x8xf32>
// CHECK-NEXT:    graph.call @exp_1(%y) : (tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32>
// CHECK-NEXT:    graph.call @exp_1(%z)
// CHECK:       graph.kernel @matmul_add_0(%{{.*}}: tensor<(batch)x(tokens)x8xf32>, %{{.*}}: tensor<8x8xf32>) -> tensor<(batch)x(tokens)x8xf32>
// CHECK:         graph.add {{.*}} : tensor<(batch)x(tokens)x8xf32>
// CHECK:       graph.kernel @exp_0(%{{.*}}: tensor<(batch * tokens)x8xf32>)
// CHECK:       graph.kernel @exp_1(%{{.*}}: tensor<(tokens)x8xf32>)
// CHECK-NOT:   graph.kernel
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @main(%x: tensor<(batch)x(tokens)x8xf32>, %y: tensor<(tokens)x8xf32>, %z: tensor<(tokens)x8xf32>) -> (tensor<(batch * tokens)x8xf32>, tensor<(tokens)x8xf32>, tensor<(tokens)x8xf32>) {
    %w = graph.weight #graph.blob<"", 0, 256, "a"> : tensor<8x8xf32>
    %m = graph.matmul %x, %w : (tensor<(batch)x(tokens)x8xf32>, tensor<8x8xf32>) -> tensor<(batch)x(tokens)x8xf32>
    %a = graph.add %m, %x : tensor<(batch)x(tokens)x8xf32>
    %r = graph.reshape %a {shape = array<i64: (batch * tokens), 8>} : (tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch * tokens)x8xf32>
    %e = graph.exp %r : tensor<(batch * tokens)x8xf32>
    %f = graph.exp %y : tensor<(tokens)x8xf32>
    %g = graph.exp %z : tensor<(tokens)x8xf32>
    func.return %e, %f, %g : tensor<(batch * tokens)x8xf32>, tensor<(tokens)x8xf32>, tensor<(tokens)x8xf32>
  }
}
