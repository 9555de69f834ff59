// A recurrence: one launch for the input's share of all steps, then one function that is launched for each step.
// RUN: mini-opt %s -p lower-kernels-to-gpu | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK: gpu.launch_func @kernels::@lstm_0_inputs
// The step's part of the input's share, h and c before and after it, and its part of y in either direction.
// CHECK: %[[H:.*]] = memref.view %s
// CHECK: memref.reinterpret_cast %y to offset: [0], sizes: [2, 8]
// CHECK: memref.reinterpret_cast %y to offset: [80], sizes: [2, 8]
// CHECK: gpu.launch_func @kernels::@lstm_0_step
// CHECK: memref.reinterpret_cast %y to offset: [32], sizes: [2, 8]
// CHECK: memref.reinterpret_cast %y to offset: [48], sizes: [2, 8]
// CHECK: gpu.launch_func @kernels::@lstm_0_step
// The last step's h is the result.
// CHECK: memref.reinterpret_cast %l to offset: [0], sizes: [2, 2, 8]
// CHECK: gpu.launch_func @kernels::@lstm_0_step
// CHECK-NOT: gpu.launch_func

// CHECK: gpu.func @lstm_0_inputs
// CHECK-LABEL: gpu.func @lstm_0_step
// CHECK: vector.load
// CHECK: gpu.shuffle xor
// CHECK: math.tanh
// CHECK-NOT: gpu.func
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: memref<3x2x4xf32>, %w: memref<2x32x4xf32>, %r: memref<2x32x8xf32>, %y: memref<3x2x2x8xf32>, %l: memref<2x2x8xf32>, %s: memref<2048xi8>) {
    kernel.call @lstm_0 ins(%x, %w, %r : memref<3x2x4xf32>, memref<2x32x4xf32>, memref<2x32x8xf32>) outs(%y, %l : memref<3x2x2x8xf32>, memref<2x2x8xf32>) scratch(%s : memref<2048xi8>)
    func.return
  }
  graph.kernel @lstm_0(%x: tensor<3x2x4xf32>, %w: tensor<2x32x4xf32>, %r: tensor<2x32x8xf32>) -> (tensor<3x2x2x8xf32>, tensor<2x2x8xf32>) attributes {schedule = #kernel.schedule<"steps", {lanes = 4, rows = 2, input_lanes = 4, input_rows = 2}>, interface = #kernel.interface<scratch = 2048>} {
    %y, %h, %c = graph.lstm %x, %w, %r {hidden = 8 : i64, direction = "bidirectional", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>} : (tensor<3x2x4xf32>, tensor<2x32x4xf32>, tensor<2x32x8xf32>) -> (tensor<3x2x2x8xf32>, tensor<2x2x8xf32>, tensor<2x2x8xf32>)
    graph.yield %y, %h : tensor<3x2x2x8xf32>, tensor<2x2x8xf32>
  }
}
