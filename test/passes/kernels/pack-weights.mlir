// New weights go to a file beside the IR.
// RUN: mini-opt %s -p form-kernels,choose-schedule,pack-weights -o %t.mlir
// RUN: mini-opt %t.mlir | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: tensor<2x2xf32> {graph.name = "x"}) -> (tensor<2x9xf32> {graph.name = "y"}) {
    %w = graph.constant dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0]]> : tensor<2x9xf32>
    %m = graph.matmul %x, %w : (tensor<2x2xf32>, tensor<2x9xf32>) -> tensor<2x9xf32>
    func.return %m : tensor<2x9xf32>
  }
}

// 9 columns are two panels of 8: two registers of 4 lanes. The body says what the panels mean.
// CHECK-LABEL: func.func @main
// CHECK:         %[[P:.*]] = graph.weight #graph.blob<"{{.*}}.weights", 0, 128, {{.*}}> : tensor<2x2x8xf32>
// CHECK-NEXT:    graph.call @matmul_0(%{{.*}}, %[[P]])
// CHECK:       graph.kernel @matmul_0(%{{.*}}: tensor<2x2xf32>, %[[A:.*]]: tensor<2x2x8xf32>)
// CHECK-NEXT:    %[[U:.*]] = graph.unpack %[[A]] {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 2, 9>}
// CHECK-NEXT:    graph.matmul %{{.*}}, %[[U]]
