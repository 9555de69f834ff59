// A transpose that changes the innermost axis: squares in shared memory, read and written in whole lines.
// RUN: mini-opt %s --to launches | filecheck %s

// CHECK: gpu.launch_func @kernels::@transpose_0 blocks in ({{.*}}) threads in ({{.*}}) dynamic_shared_memory_size
// CHECK: gpu.func @transpose_0
// CHECK: %square = memref.view {{.*}} to memref<32x33xf32
// CHECK: memref.store {{.*}}, %square[%[[LINE:.*]], %x]
// CHECK: gpu.barrier
// CHECK: memref.load %square[%x, %[[LINE:.*]]]
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%a: tensor<512x1024xf32>) -> tensor<1024x512xf32> {
    %b = graph.transpose %a {permutation = array<i64: 1, 0>} : (tensor<512x1024xf32>) -> tensor<1024x512xf32>
    func.return %b : tensor<1024x512xf32>
  }
}
