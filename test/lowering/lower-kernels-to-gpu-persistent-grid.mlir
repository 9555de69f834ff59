// A recurrence with many hidden states: blocks keep the weights of some of them, and meet after each phase of a step.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s
// RUN: mini-opt %s -p lower-kernels-to-gpu -t launches | filecheck %s --check-prefix LAUNCHES
// RUN: mini-opt %s -p lower-kernels-to-gpu -t cuda | filecheck %s --check-prefix CUDA

// LAUNCHES: gru_0_inputs     3          128
// LAUNCHES: gru_0_all_steps  8 at once  32

// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func @kernels::@gru_0_inputs
// CHECK: gpu.launch_func @kernels::@gru_0_all_steps
// CHECK-NOT: gpu.launch_func

// The launch before sets the counter.
// CHECK-LABEL: gpu.func @gru_0_inputs
// CHECK: %counter = memref.view
// CHECK: memref.store %{{.*}}, %counter[%{{.*}}] : memref<1xi32>

// A thread's only vector of each gate's weights is in registers.
// CHECK-LABEL: gpu.func @gru_0_all_steps
// CHECK-SAME: nvgpu.cooperative
// CHECK-DAG: %near = memref.alloca() : memref<1x3xvector<4xf32>, #gpu.address_space<private>>
// CHECK-DAG: %rows = memref.view {{.*}} to memref<2x32xf32, #gpu.address_space<workgroup>>

// Two products for each step: the second one is of h that the reset gate was laid on, by all blocks.
// CHECK: scf.for
// CHECK: vector.store {{.*}}, %rows
// CHECK: gpu.barrier
// CHECK: gpu.shuffle xor
// CHECK: memref.store {{.*}}, %reset_h
// CHECK: nvgpu.grid_barrier %counter : memref<1xi32>
// CHECK: vector.load %reset_h
// CHECK: vector.store {{.*}}, %rows
// CHECK: gpu.barrier
// CHECK: memref.store {{.*}}, %h
// CHECK: nvgpu.grid_barrier %{{.*}} : memref<1xi32>

// CUDA: DEVICE void grid_barrier(int* counter) {
// CUDA: void __launch_bounds__(32) gru_0_all_steps(
// CUDA: vec<float, 4> near[1][3];
// CUDA: grid_barrier(counter);
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: memref<3x2x4xf32>, %w: memref<1x96x4xf32>, %r: memref<1x96x32xf32>, %y: memref<3x1x2x32xf32>, %s: memref<3584xi8>) {
    kernel.call @gru_0 ins(%x, %w, %r : memref<3x2x4xf32>, memref<1x96x4xf32>, memref<1x96x32xf32>) outs(%y : memref<3x1x2x32xf32>) scratch(%s : memref<3584xi8>)
    func.return
  }
  graph.kernel @gru_0(%x: tensor<3x2x4xf32>, %w: tensor<1x96x4xf32>, %r: tensor<1x96x32xf32>) -> tensor<3x1x2x32xf32> attributes {schedule = #kernel.schedule<"persistent_grid", {units = 4, lanes = 8, rows = 2, input_lanes = 4, input_rows = 2, in_registers = 1}>, interface = #kernel.interface<scratch = 3584>} {
    %y, %h = graph.gru %x, %w, %r {hidden = 32 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>} : (tensor<3x2x4xf32>, tensor<1x96x4xf32>, tensor<1x96x32xf32>) -> (tensor<3x1x2x32xf32>, tensor<1x2x32xf32>)
    graph.yield %y : tensor<3x1x2x32xf32>
  }
}
