// RUN: not mini-opt %s -p 'round-products{to=bf16}' 2>&1 | filecheck %s
// RUN: not mini-opt %s -p 'round-products{to=f16}' 2>&1 | filecheck %s --check-prefix=TYPE

// CHECK: precision bf16 needs a CPU that multiplies bf16 (vdpbf16ps or bfdot), and 'znver3' with vectors of 256 bits doesn't; weights bf16 needs none
// TYPE: to is 'f16'
builtin.module attributes {kernel.target = #kernel.cpu<"znver3" has ["fma"], vector_bits = 256>} {
  func.func @main(%x: tensor<5x16xf32>, %y: tensor<16x4xf32>) -> tensor<5x4xf32> {
    %0 = graph.matmul %x, %y : (tensor<5x16xf32>, tensor<16x4xf32>) -> tensor<5x4xf32>
    func.return %0 : tensor<5x4xf32>
  }
}
