// RUN: mini-opt %s -p order-kernels | filecheck %s

graph.kernel @wide(%a: tensor<64xf32>) -> tensor<4096xf32> {
  %b = graph.broadcast_to %a {shape = array<i64: 64, 64>} : (tensor<64xf32>) -> tensor<64x64xf32>
  %c = graph.reshape %b {shape = array<i64: 4096>} : (tensor<64x64xf32>) -> tensor<4096xf32>
  graph.yield %c : tensor<4096xf32>
}
graph.kernel @narrow(%a: tensor<4096xf32>) -> tensor<64xf32> {
  %b = graph.slice %a {starts = array<i64: 0>, stops = array<i64: 64>, steps = array<i64: 1>} : (tensor<4096xf32>) -> tensor<64xf32>
  graph.yield %b : tensor<64xf32>
}
graph.kernel @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.add %a, %b : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}

// The calls in the loop are ordered by themselves: no two wide values are live at once.
// CHECK-LABEL: func.func @main
// CHECK:         scf.for
// CHECK-NEXT:      graph.call @wide
// CHECK-NEXT:      graph.call @narrow
// CHECK-NEXT:      graph.call @wide
// CHECK-NEXT:      graph.call @narrow
// CHECK-NEXT:      graph.call @add
// CHECK-NEXT:      scf.yield
func.func @main(%x: tensor<64xf32>, %n: tensor<i64>) -> tensor<64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %number = tensor.extract %n[] : tensor<i64>
  %last = arith.index_cast %number : i64 to index
  %y = scf.for %i = %c0 to %last step %c1 iter_args(%s = %x) -> (tensor<64xf32>) {
    %a = graph.call @wide(%s) : (tensor<64xf32>) -> tensor<4096xf32>
    %b = graph.call @wide(%x) : (tensor<64xf32>) -> tensor<4096xf32>
    %c = graph.call @narrow(%a) : (tensor<4096xf32>) -> tensor<64xf32>
    %d = graph.call @narrow(%b) : (tensor<4096xf32>) -> tensor<64xf32>
    %e = graph.call @add(%c, %d) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %e : tensor<64xf32>
  }
  func.return %y : tensor<64xf32>
}
