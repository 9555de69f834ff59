// RUN: mini-opt %s -t asm --cpu x86_64-linux-gnu:x86-64-v3 | filecheck %s --check-prefix=WIDE
// RUN: mini-opt %s -t asm --cpu x86_64-linux-gnu:x86-64 | filecheck %s --check-prefix=PLAIN
// RUN: mini-opt %s -t asm --cpu aarch64-linux-gnu:neoverse-n1 | filecheck %s --check-prefix=ARM
// RUN: mini-opt %s --to kernels --cpu x86_64-linux-gnu:x86-64-v4 | filecheck %s --check-prefix=TARGET
// RUN: not mini-opt %s -t asm --cpu no-such-cpu 2>&1 | filecheck %s --check-prefix=UNKNOWN

// What is scheduled, and what is assembled, is for the CPU that is named, whatever machine this is.
// WIDE:     vfmadd{{.*}}%ymm
// PLAIN:    mulps
// PLAIN:    addps
// ARM:      fmla
// TARGET:   kernel.target = #kernel.cpu<"x86_64-linux-gnu:x86-64-v4" has ["fma", "half", "pmaddubsw", "pmaddwd", "round"], vector_bits = 512, registers = 32
// UNKNOWN:  error: LLVM knows no CPU 'no-such-cpu'
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}, %w: tensor<8x16xf32> {graph.name = "w"})
    -> (tensor<4x16xf32> {graph.name = "y"}) {
  %y = graph.matmul %x, %w : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  func.return %y : tensor<4x16xf32>
}
