// RUN: mini-opt %s -p 'limit-threads{grain=2000}' | filecheck %s
// RUN: mini-opt %s -p 'limit-threads' | filecheck %s --check-prefix DEFAULT
// RUN: mini-opt %s -p 'limit-threads{grain=0}' | filecheck %s --check-prefix ALL

// Two products of 2 * 64 * 64 * 64 operations, 64 of them a nanosecond with four lanes, while 3 * 16384 bytes
// come from a cache: 16.4 microseconds of work are eight threads of 2.
// CHECK: threads = 8, gflops = 64, gbytes = 40>
// DEFAULT: threads = 1, gflops
// ALL: threads = 16, gflops
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 16>} {
  func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %a = graph.call @matmul(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %b = graph.call @matmul(%a, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    func.return %b : tensor<64x64xf32>
  }
  graph.kernel @matmul(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> attributes {form = #kernel.form<"contraction">} {
    %r = graph.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %r : tensor<64x64xf32>
  }
}
