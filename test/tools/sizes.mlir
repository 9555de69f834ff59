// A module with sizes of run time is text at every level, from which the next command goes on.
// RUN: mini-opt %s --to kernels | filecheck %s --check-prefix=KERNELS
// RUN: mini-opt %s --to kernels | mini-opt - --to buffers | filecheck %s --check-prefix=BUFFERS
// RUN: mini-opt %s --to kernels | mini-opt - --to buffers | mini-opt - --to arena | filecheck %s --check-prefix=ARENA
// RUN: mini-opt %s --to kernels | mini-opt - --to buffers | mini-opt - --to arena | mini-opt - --to loops | filecheck %s --check-prefix=LOOPS
// RUN: mini-opt %s --to kernels | mini-opt - --to buffers | mini-opt - --to arena | mini-opt - --to loops | mini-opt - --to llvm | filecheck %s --check-prefix=LLVM

// Every value is in the output's own bytes: a row for each of batch * tokens. What is left for the arena is scratch, a
// cache line for two tokens, and where that lies is the third number of the table.
// KERNELS: mini_infer.level = "kernels"
// KERNELS: graph.call @softmax_0(%{{.*}}) : (tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens)x8xf32>
// KERNELS: graph.kernel @softmax_0
// KERNELS-SAME: per_thread = (((tokens + 1) floordiv 2) * 64)>
// BUFFERS: mini_infer.level = "buffers"
// BUFFERS: memref.reinterpret_cast %y to offset: [0], sizes: [(batch), (tokens), 8], strides: [(tokens * 8), 8, 1] {{.*}} : memref<(batch * tokens)x8xf32> to memref<(batch)x(tokens)x8xf32>
// BUFFERS: memref.alloc() {{.*}} : memref<(((tokens + 1) floordiv 2) * 64)xi8>
// ARENA: dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64], offset "buffer softmax_0" = 0
// ARENA-SAME: mini_infer.level = "arena", kernel.buffers = #kernel.buffers<256, "softmax_0" scratch (((tokens + 1) floordiv 2) * 64) [1, 2]>
// ARENA: %sizes: memref<3xi64>
// LOOPS: mini_infer.level = "loops"
// LOOPS: func.call @kernel_softmax_0(%{{.*}}, %{{.*}}, %sizes,
// LLVM: mini_infer.level = "llvm"
// LLVM: llvm.func @main(
// LLVM: %[[P:.*]] = llvm.getelementptr %sizes[2] : (!llvm.ptr) -> !llvm.ptr, i64
// LLVM-NEXT: %[[AT:.*]] = llvm.load %[[P]]
// LLVM: %[[SCRATCH:.*]] = llvm.getelementptr inbounds %arena[%[[AT]]]
// LLVM: llvm.call @kernel_softmax_0(%y, %[[SCRATCH]], %sizes,
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @main(%x: tensor<(batch)x(tokens)x8xf32> {graph.name = "x"}) -> (tensor<(batch * tokens)x8xf32> {graph.name = "y"}) {
    %e = graph.exp %x : tensor<(batch)x(tokens)x8xf32>
    %s = graph.softmax %e {axis = 1 : i64} : tensor<(batch)x(tokens)x8xf32>
    %y = graph.reshape %s {shape = array<i64: (batch * tokens), 8>} : (tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch * tokens)x8xf32>
    func.return %y : tensor<(batch * tokens)x8xf32>
  }
}
