// RUN: mini-opt %s -p lower-kernels | mini-opt | filecheck %s

// The table of sizes is handed to each kernel; what a loop runs to is a constant of sizes, which is still to be read from it.
// CHECK-LABEL: func.func @main
// CHECK:         func.call @kernel_relu_0(%x, %y, %sizes, {{.*}}) : (memref<(batch)x(tokens)xf32>, memref<(batch)x(tokens)xf32>, memref<2xi64>, index, index, index)
// Dims that are dense side by side are one: whole vectors of it, and then what is left.
// CHECK:       func.func private @kernel_relu_0(%[[X:.*]]: memref<(batch)x(tokens)xf32>, %{{.*}}: memref<(batch)x(tokens)xf32>, %{{.*}}: memref<2xi64> {graph.role = "sizes"}, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
// CHECK-DAG:     %[[ALL:.*]] = arith.constant (batch * tokens) : index
// CHECK-DAG:     %[[FOURS:.*]] = arith.constant (((batch * tokens) floordiv 4) * 4) : index
// CHECK:         %[[LINE:.*]] = memref.reinterpret_cast %[[X]] {{.*}} to memref<(batch * tokens)xf32, strided<[1], offset: ?>>
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[FOURS]] step
// CHECK-NEXT:      vector.load %[[LINE]]
// CHECK:         scf.for %{{.*}} = %[[FOURS]] to %[[ALL]] step
// CHECK-NEXT:      memref.load %[[LINE]]
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>, kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @main(%x: memref<(batch)x(tokens)xf32> {graph.role = "input"}, %y: memref<(batch)x(tokens)xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %sizes: memref<2xi64> {graph.role = "sizes"}) {
    kernel.call @relu_0 ins(%x : memref<(batch)x(tokens)xf32>) outs(%y : memref<(batch)x(tokens)xf32>)
    func.return
  }
  graph.kernel @relu_0(%x: tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32> attributes {form = #kernel.form<"map">, schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.relu %x : tensor<(batch)x(tokens)xf32>
    graph.yield %r : tensor<(batch)x(tokens)xf32>
  }
}
