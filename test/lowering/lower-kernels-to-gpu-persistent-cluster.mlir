// A recurrence whose weights a cluster holds: its blocks read the state from each other's shared memory.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func @kernels::@gru_0_inputs
// CHECK: gpu.launch_func @kernels::@gru_0_all_steps
// CHECK-NOT: gpu.launch_func

// CHECK-LABEL: gpu.func @gru_0_all_steps
// CHECK-SAME: gpu.known_cluster_size = array<i32: 4, 1, 1>
// CHECK-DAG: %weights = memref.view {{.*}} to memref<1x3x256xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %rows = memref.view {{.*}} to memref<2x32xf32, #gpu.address_space<workgroup>>
// h of this block's eight units before and after a step, and multiplied by the reset gate.
// CHECK-DAG: %lent_h = memref.view {{.*}} to memref<4x8xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %lent_reset_h = memref.view {{.*}} to memref<2x8xf32, #gpu.address_space<workgroup>>

// CHECK: memref.store {{.*}}, %lent_h
// CHECK: nvgpu.cluster_barrier
// CHECK: scf.for
// CHECK: nvgpu.cluster_load %lent_h[{{.*}}] of {{.*}} -> vector<4xf32>
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}}, %lent_reset_h
// CHECK: nvgpu.cluster_barrier
// CHECK: nvgpu.cluster_load %lent_reset_h[{{.*}}] of {{.*}} -> vector<4xf32>
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}}, %lent_h
// CHECK: nvgpu.cluster_barrier
builtin.module attributes {kernel.target = #kernel.gpu<"sm_90a">} {
  func.func @main(%x: memref<3x2x4xf32>, %w: memref<1x96x4xf32>, %r: memref<1x96x32xf32>, %y: memref<3x1x2x32xf32>, %s: memref<2304xi8>) {
    kernel.call @gru_0 ins(%x, %w, %r : memref<3x2x4xf32>, memref<1x96x4xf32>, memref<1x96x32xf32>) outs(%y : memref<3x1x2x32xf32>) scratch(%s : memref<2304xi8>)
    func.return
  }
  graph.kernel @gru_0(%x: tensor<3x2x4xf32>, %w: tensor<1x96x4xf32>, %r: tensor<1x96x32xf32>) -> tensor<3x1x2x32xf32> attributes {schedule = #kernel.schedule<"persistent_cluster", {units = 8, lanes = 8, rows = 2, input_lanes = 4, input_rows = 2, in_shared = 1}>, interface = #kernel.interface<scratch = 2304>} {
    %y, %h = graph.gru %x, %w, %r {hidden = 32 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<3x2x4xf32>, tensor<1x96x4xf32>, tensor<1x96x32xf32>) -> (tensor<3x1x2x32xf32>, tensor<1x2x32xf32>)
    graph.yield %y : tensor<3x1x2x32xf32>
  }
}
