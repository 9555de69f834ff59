// RUN: mini-opt %s -p 'share-threads{grain=1000}' | filecheck %s

// Work is estimated at 64 tokens: 8.2 microseconds are eight threads of 1. The stage is handed the table of sizes like
// all of main's arguments, and has the constants that it needs, sizes and offsets, made in it.
// CHECK-LABEL: func.func @main
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:         func.call @share_stage_0(%team, %[[EIGHT]], %[[EIGHT]])
// CHECK:       func.func @stage_0(%[[X:[0-9a-z]+]]: memref<(tokens)x64xf32>, %{{.*}}: memref<64x64xf32>, %[[ARENA:[0-9a-z]+]]: memref<16384xi8>, %[[SIZES:[0-9a-z]+]]: memref<2xi64> {graph.role = "sizes"}, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
// CHECK-NEXT:    %[[AT:.*]] = arith.constant ("buffer a") : index
// CHECK-NEXT:    %[[A:.*]] = memref.view %[[ARENA]][%[[AT]]][] {{.*}} to memref<(tokens)x64xf32>
// CHECK-NEXT:    kernel.call @matmul ins(%[[X]], %{{.*}}) outs(%[[A]] : memref<(tokens)x64xf32>)
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 16>, kernel.symbols = #kernel.symbols<dim tokens = 64 in [1, 512], offset "buffer a" = 0 in [0, 262144] live [0, 1]>} {
  graph.kernel @matmul(%a: tensor<(tokens)x64xf32>, %b: tensor<64x64xf32>) -> tensor<(tokens)x64xf32> {
    %r = graph.matmul %a, %b : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    graph.yield %r : tensor<(tokens)x64xf32>
  }
  func.func @main(%x: memref<(tokens)x64xf32> {graph.role = "input"}, %w: memref<64x64xf32> {graph.role = "input"}, %arena: memref<16384xi8> {graph.role = "arena"}, %sizes: memref<2xi64> {graph.role = "sizes"}) {
    %at = arith.constant ("buffer a") : index
    %a = memref.view %arena[%at][] {buffer = 0, birth = 0, death = 1} : memref<16384xi8> to memref<(tokens)x64xf32>
    kernel.call @matmul ins(%x, %w : memref<(tokens)x64xf32>, memref<64x64xf32>) outs(%a : memref<(tokens)x64xf32>)
    func.return
  }
}
