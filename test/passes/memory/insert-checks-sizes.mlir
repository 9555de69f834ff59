// RUN: mini-opt %s -p insert-checks | mini-opt | filecheck %s

// Indices count in as many rows as there are at run time, which the check tells.
// CHECK:       %status: memref<8xi8> {graph.role = "status", graph.checks = {{\[\[}}"first (graph.gather)", (rows * 2) : i64]]})
// CHECK:         %[[S:.*]] = memref.view %status
// CHECK-NEXT:    kernel.call @rows ins(%x, %i : memref<(rows * 2)x5xf32>, memref<3xi32>) outs(%y : memref<3x5xf32>) status(%[[S]] : memref<1xi64>)
builtin.module attributes {kernel.symbols = #kernel.symbols<dim rows = 4 in [1, 8]>} {
  func.func @main(%x: memref<(rows * 2)x5xf32> {graph.role = "input"}, %i: memref<3xi32> {graph.role = "input"}, %y: memref<3x5xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %sizes: memref<1xi64> {graph.role = "sizes"}) {
    kernel.call @rows ins(%x, %i : memref<(rows * 2)x5xf32>, memref<3xi32>) outs(%y : memref<3x5xf32>) loc("first")
    func.return
  }
  graph.kernel @rows(%x: tensor<(rows * 2)x5xf32>, %i: tensor<3xi32>) -> tensor<3x5xf32> {
    %r = graph.gather %x, %i {axis = 0 : i64} : (tensor<(rows * 2)x5xf32>, tensor<3xi32>) -> tensor<3x5xf32>
    graph.yield %r : tensor<3x5xf32>
  }
}
