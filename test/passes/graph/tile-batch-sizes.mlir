// RUN: mini-opt %s -p tile-batch,dce --split-input-file | filecheck %s

// Two entries of 512 bytes in and out would fit into four caches, eight don't: the loop goes over as many as there are.
// CHECK-LABEL: @main
// CHECK:         %[[Z:.*]] = graph.broadcast_to {{.*}} -> tensor<(batch)x8x16xf32>
// CHECK:         %[[N:.*]] = arith.constant (batch) : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %[[Z]]) -> (tensor<i64>, tensor<(batch)x8x16xf32>) {
// CHECK:           graph.matmul {{.*}} -> tensor<1x8x16xf32>
// CHECK:           graph.scatter_nd {{.*}} -> tensor<(batch)x8x16xf32>
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8]>} {
  func.func @main(%x: tensor<(batch)x8x16xf32>, %w: tensor<16x16xf32>) -> tensor<(batch)x8x16xf32> {
    %a = graph.matmul %x, %w : (tensor<(batch)x8x16xf32>, tensor<16x16xf32>) -> tensor<(batch)x8x16xf32>
    %r = graph.relu %a : tensor<(batch)x8x16xf32>
    %b = graph.matmul %r, %w : (tensor<(batch)x8x16xf32>, tensor<16x16xf32>) -> tensor<(batch)x8x16xf32>
    %c = graph.relu %b : tensor<(batch)x8x16xf32>
    func.return %c : tensor<(batch)x8x16xf32>
  }
}

// -----

// A batch of two at most always fits.
// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
// CHECK:         graph.matmul {{.*}} -> tensor<(batch)x8x16xf32>
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 2]>} {
  func.func @main(%x: tensor<(batch)x8x16xf32>, %w: tensor<16x16xf32>) -> tensor<(batch)x8x16xf32> {
    %a = graph.matmul %x, %w : (tensor<(batch)x8x16xf32>, tensor<16x16xf32>) -> tensor<(batch)x8x16xf32>
    %r = graph.relu %a : tensor<(batch)x8x16xf32>
    %b = graph.matmul %r, %w : (tensor<(batch)x8x16xf32>, tensor<16x16xf32>) -> tensor<(batch)x8x16xf32>
    %c = graph.relu %b : tensor<(batch)x8x16xf32>
    func.return %c : tensor<(batch)x8x16xf32>
  }
}
