// Long rows and many updates are sorted: tiles in shared memory, then merges.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK-DAG: gpu.launch_func @kernels::@[[TOP:.*]]_tiles
// CHECK-DAG: gpu.launch_func @kernels::@[[TOP]]_merge0
// Without a merge, and with a copy of what the caller has.
// CHECK-DAG: gpu.launch_func @kernels::@[[SCATTER:scatter.*]]_copy
// CHECK-DAG: gpu.launch_func @kernels::@[[SCATTER]]_tiles
// CHECK-DAG: gpu.launch_func @kernels::@[[SCATTER]]_updates
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%a: tensor<4x3000xf32>, %x: tensor<9000xf32>, %i: tensor<2000x1xi64>, %u: tensor<2000xf32>)
      -> (tensor<4x10xi64>, tensor<9000xf32>) {
    %b = graph.top_k %a {axis = 1 : i64, count = 10 : i64} : (tensor<4x3000xf32>) -> tensor<4x10xi64>
    %y = graph.scatter_nd %x, %i, %u {reduction = "add"}
      : (tensor<9000xf32>, tensor<2000x1xi64>, tensor<2000xf32>) -> tensor<9000xf32>
    func.return %b, %y : tensor<4x10xi64>, tensor<9000xf32>
  }
}
