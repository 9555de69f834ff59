// The running sum of one long row: a launch adds up each block's part of it, the next begins with the parts before.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK: gpu.launch_func @kernels::@cumsum_0_sums
// CHECK: gpu.launch_func @kernels::@cumsum_0 blocks
// CHECK: gpu.func @cumsum_0_sums
// CHECK: gpu.func @cumsum_0(
// CHECK: gpu.shuffle up
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%a: tensor<1x100000xf32>) -> tensor<1x100000xf32> {
    %b = graph.cumsum %a {axis = 1 : i64} : tensor<1x100000xf32>
    func.return %b : tensor<1x100000xf32>
  }
}
