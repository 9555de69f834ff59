// A recurrence with few hidden states: a block keeps the weights in shared memory and runs all steps.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func @kernels::@gru_0_inputs
// CHECK: gpu.launch_func @kernels::@gru_0_all_steps
// CHECK-NOT: gpu.launch_func

// CHECK-LABEL: gpu.func @gru_0_all_steps
// CHECK-DAG: %weights = memref.view {{.*}} to memref<24x8xf32, #gpu.address_space<workgroup>>
// CHECK-DAG: %all_h = memref.view {{.*}} to memref<4x8xf32, #gpu.address_space<workgroup>>
// CHECK: gpu.barrier
// Two products for each step: the second one is of h that the reset gate was laid on.
// CHECK: scf.for
// CHECK: gpu.shuffle xor
// CHECK: memref.store {{.*}}, %reset_h
// CHECK: gpu.barrier
// CHECK: vector.load %reset_h
// CHECK: memref.store {{.*}}, %all_h
// CHECK: gpu.barrier
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: memref<3x2x4xf32>, %w: memref<1x24x4xf32>, %r: memref<1x24x8xf32>, %y: memref<3x1x2x8xf32>, %s: memref<576xi8>) {
    kernel.call @gru_0 ins(%x, %w, %r : memref<3x2x4xf32>, memref<1x24x4xf32>, memref<1x24x8xf32>) outs(%y : memref<3x1x2x8xf32>) scratch(%s : memref<576xi8>)
    func.return
  }
  graph.kernel @gru_0(%x: tensor<3x2x4xf32>, %w: tensor<1x24x4xf32>, %r: tensor<1x24x8xf32>) -> tensor<3x1x2x8xf32> attributes {schedule = #kernel.schedule<"persistent", {lanes = 8, rows = 2, input_lanes = 4, input_rows = 2}>, interface = #kernel.interface<scratch = 576>} {
    %y, %h = graph.gru %x, %w, %r {hidden = 8 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<3x2x4xf32>, tensor<1x24x4xf32>, tensor<1x24x8xf32>) -> (tensor<3x1x2x8xf32>, tensor<1x2x8xf32>)
    graph.yield %y : tensor<3x1x2x8xf32>
  }
}
