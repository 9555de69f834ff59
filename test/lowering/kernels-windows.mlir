// RUN: mini-opt %s -p lower-kernels | mini-opt | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 256, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: memref<1x9x9x32xf32>, %y: memref<1x5x5x32xf32>, %z: memref<1x1x1x32xf32>) {
    kernel.call @max ins(%x : memref<1x9x9x32xf32>) outs(%y : memref<1x5x5x32xf32>)
    kernel.call @mean ins(%x : memref<1x9x9x32xf32>) outs(%z : memref<1x1x1x32xf32>)
    func.return
  }

  // Left border, middle and right border have loops of their own, with two, three and two taps in a filter row;
  // how many filter rows are inside is computed for each row of pixels.
  // CHECK-LABEL: func.func private @kernel_max(
  // CHECK-NOT:     scf.if
  // CHECK:         arith.minsi
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK-COUNT-2:   vector.load
  // CHECK-NEXT:    arith.maximumf
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK-COUNT-3:   vector.load
  // CHECK-NEXT:    arith.maximumf
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK-COUNT-2:   vector.load
  // CHECK-NEXT:    arith.maximumf
  // CHECK-NOT:     vector.load
  // CHECK:         func.return
  graph.kernel @max(%x: tensor<1x9x9x32xf32>) -> tensor<1x5x5x32xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.max_pool %x {kernel = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x9x9x32xf32>) -> tensor<1x5x5x32xf32>
    graph.yield %r : tensor<1x5x5x32xf32>
  }

  // Long filter rows are loops, too.
  // CHECK-LABEL: func.func private @kernel_mean(
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK:           scf.for {{.*}} -> (vector<32xf32>)
  // CHECK:             vector.load
  // CHECK-NOT:     vector.load
  // CHECK:         arith.divf
  graph.kernel @mean(%x: tensor<1x9x9x32xf32>) -> tensor<1x1x1x32xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.avg_pool %x {kernel = array<i64: 9, 9>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = "NHWC"} : (tensor<1x9x9x32xf32>) -> tensor<1x1x1x32xf32>
    graph.yield %r : tensor<1x1x1x32xf32>
  }
}
