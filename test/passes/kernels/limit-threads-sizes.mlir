// RUN: mini-opt %s --split-input-file -p 'limit-threads{grain=2000}' | filecheck %s

// Work is estimated at the shapes that the module is made for, 64 tokens here: 16.4 microseconds, eight threads of 2.
// That is a choice, and no guard.
// CHECK:     threads = 8, gflops
// CHECK-NOT: kernel.guards
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 16>, kernel.symbols = #kernel.symbols<dim tokens = 64 in [1, 512]>} {
  func.func @main(%x: tensor<(tokens)x64xf32>, %w: tensor<64x64xf32>) -> tensor<(tokens)x64xf32> {
    %a = graph.call @matmul(%x, %w) : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    %b = graph.call @matmul(%a, %w) : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    func.return %b : tensor<(tokens)x64xf32>
  }
  graph.kernel @matmul(%a: tensor<(tokens)x64xf32>, %b: tensor<64x64xf32>) -> tensor<(tokens)x64xf32> attributes {form = #kernel.form<"contraction">} {
    %r = graph.matmul %a, %b : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    graph.yield %r : tensor<(tokens)x64xf32>
  }
}

// -----

// 16 tokens are a fourth of that.
// CHECK: threads = 2, gflops
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 16>, kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 512]>} {
  func.func @main(%x: tensor<(tokens)x64xf32>, %w: tensor<64x64xf32>) -> tensor<(tokens)x64xf32> {
    %a = graph.call @matmul(%x, %w) : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    %b = graph.call @matmul(%a, %w) : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    func.return %b : tensor<(tokens)x64xf32>
  }
  graph.kernel @matmul(%a: tensor<(tokens)x64xf32>, %b: tensor<64x64xf32>) -> tensor<(tokens)x64xf32> attributes {form = #kernel.form<"contraction">} {
    %r = graph.matmul %a, %b : (tensor<(tokens)x64xf32>, tensor<64x64xf32>) -> tensor<(tokens)x64xf32>
    graph.yield %r : tensor<(tokens)x64xf32>
  }
}
