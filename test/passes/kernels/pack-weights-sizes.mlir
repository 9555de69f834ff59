// New weights go to a file beside the IR.
// RUN: mini-opt %s -p form-kernels,choose-schedule,pack-weights -o %t.mlir
// RUN: mini-opt %t.mlir | filecheck %s

// A weight is packed for rows of any number. What is computed, of as many columns as there are tokens, stays as it is.
// CHECK-LABEL: func.func @main
// CHECK:         %[[P:.*]] = graph.weight #graph.blob<"{{.*}}.weights", 0, 512, {{.*}}> : tensor<2x8x8xf32>
// CHECK-NEXT:    graph.call @matmul_0(%x, %[[P]]) : (tensor<(batch * tokens)x8xf32>, tensor<2x8x8xf32>) -> tensor<(batch * tokens)x9xf32>
// CHECK-NEXT:    graph.call @matmul_1(%x, %y) : (tensor<(batch * tokens)x8xf32>, tensor<8x(tokens)xf32>)
// CHECK:       graph.kernel @matmul_0(%{{.*}}: tensor<(batch * tokens)x8xf32>, %[[A:.*]]: tensor<2x8x8xf32>)
// CHECK-NEXT:    graph.unpack %[[A]] {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 8, 9>}
// CHECK:       graph.kernel @matmul_1
// CHECK-NEXT:    graph.matmul
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @main(%x: tensor<(batch * tokens)x8xf32>, %y: tensor<8x(tokens)xf32>) -> (tensor<(batch * tokens)x9xf32>, tensor<(batch * tokens)x(tokens)xf32>) {
    %w = graph.constant dense<0.5> : tensor<8x9xf32>
    %m = graph.matmul %x, %w : (tensor<(batch * tokens)x8xf32>, tensor<8x9xf32>) -> tensor<(batch * tokens)x9xf32>
    %n = graph.matmul %x, %y : (tensor<(batch * tokens)x8xf32>, tensor<8x(tokens)xf32>) -> tensor<(batch * tokens)x(tokens)xf32>
    func.return %m, %n : tensor<(batch * tokens)x9xf32>, tensor<(batch * tokens)x(tokens)xf32>
  }
}
