// RUN: mini-opt %s -p lower-kernels | filecheck %s

// Where no stage has shares, the code knows that there is one share, and does not compute what it has of the rows.
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, threads = 2>} {
  func.func @main(%x: memref<40xf32>, %y: memref<40xf32>) {
    kernel.call @abs_0 ins(%x : memref<40xf32>) outs(%y : memref<40xf32>)
    func.return
  }

  graph.kernel @abs_0(%a: tensor<40xf32>) -> tensor<40xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.abs %a : tensor<40xf32>
    graph.yield %r : tensor<40xf32>
  }
}

// CHECK-LABEL: func.func private @kernel_abs_0(
// CHECK-NOT:     arith.divui
// CHECK:         %[[END:.*]] = arith.constant 40 : index
// CHECK-NOT:     arith.divui
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[END]]
// CHECK-NOT:     arith.divui
// CHECK:         func.return
