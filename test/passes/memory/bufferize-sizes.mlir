// RUN: mini-opt %s -p bufferize | filecheck %s

// Tensors with sizes become buffers with the same. Scratch is 100 bytes for all, and for each of 3 threads 64 for a token.
// CHECK:      func.func @main(%x: memref<(tokens)x8xf32> {graph.role = "input"}, %w: memref<8x8xf32> {graph.role = "input"},
// CHECK-SAME:   %{{.*}}: memref<(tokens * 8)xf32> {graph.role = "output"}) {
// CHECK-NEXT:   %a = memref.alloc() {name = "a"} : memref<(tokens)x8xf32>
// CHECK-NEXT:   %[[S:.*]] = memref.alloc() {kernel.scratch, name = "product"} : memref<(tokens * 192 + 100)xi8>
// CHECK-NEXT:   kernel.call @product ins(%x, %w : memref<(tokens)x8xf32>, memref<8x8xf32>) outs(%a : memref<(tokens)x8xf32>) scratch(%[[S]] : memref<(tokens * 192 + 100)xi8>)
// A reshape is a copy at first, of a kernel that has the sizes itself.
// CHECK-NEXT:   kernel.call @copy_0 ins(%a : memref<(tokens)x8xf32>) outs(%{{.*}} : memref<(tokens * 8)xf32>)
// CHECK:      graph.kernel @copy_0(%{{.*}}: tensor<(tokens)x8xf32>) -> tensor<(tokens * 8)xf32>
// CHECK-SAME:   moves = [0 to 0 sizes [(tokens * 8)] from 0 [1] at 0 [1]]
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 524288, threads = 3>, kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64]>} {
  graph.kernel @product(%x: tensor<(tokens)x8xf32>, %w: tensor<8x8xf32>) -> tensor<(tokens)x8xf32> attributes {interface = #kernel.interface<scratch = 100, per_thread = (tokens * 64)>} {
    %r = graph.matmul %x, %w : (tensor<(tokens)x8xf32>, tensor<8x8xf32>) -> tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  func.func @main(%x: tensor<(tokens)x8xf32>, %w: tensor<8x8xf32>) -> tensor<(tokens * 8)xf32> {
    %a = graph.call @product(%x, %w) : (tensor<(tokens)x8xf32>, tensor<8x8xf32>) -> tensor<(tokens)x8xf32>
    %y = graph.reshape %a {shape = array<i64: (tokens * 8)>} : (tensor<(tokens)x8xf32>) -> tensor<(tokens * 8)xf32>
    func.return %y : tensor<(tokens * 8)xf32>
  }
}
