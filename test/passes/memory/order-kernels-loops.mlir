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
graph.kernel @both(%a: tensor<4096xf32>, %b: tensor<4096xf32>) -> tensor<64xf32> {
  %c = graph.add %a, %b : tensor<4096xf32>
  %d = graph.slice %c {starts = array<i64: 0>, stops = array<i64: 64>, steps = array<i64: 1>} : (tensor<4096xf32>) -> tensor<64xf32>
  graph.yield %d : tensor<64xf32>
}
graph.kernel @add(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.add %a, %b : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}

// Two loops of which the second comes to be the first: what is in each is ordered where it is then.
// CHECK-LABEL: func.func @main
// CHECK:         graph.call @wide
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      graph.call @narrow
// CHECK-NEXT:      graph.call @wide
// CHECK-NEXT:      graph.call @narrow
// CHECK-NEXT:      graph.call @wide
// CHECK-NEXT:      graph.call @narrow
// CHECK:         graph.call @wide
// CHECK-NEXT:    scf.for
// CHECK:           graph.call @both
func.func @main(%x: tensor<64xf32>, %n: tensor<i64>) -> (tensor<64xf32>, tensor<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %number = tensor.extract %n[] : tensor<i64>
  %last = arith.index_cast %number : i64 to index
  %p = graph.call @wide(%x) : (tensor<64xf32>) -> tensor<4096xf32>
  %q = graph.call @wide(%x) : (tensor<64xf32>) -> tensor<4096xf32>
  %y = scf.for %i = %c0 to %last step %c1 iter_args(%s = %x) -> (tensor<64xf32>) {
    %t = graph.call @wide(%s) : (tensor<64xf32>) -> tensor<4096xf32>
    %v = graph.call @wide(%x) : (tensor<64xf32>) -> tensor<4096xf32>
    %u = graph.call @both(%t, %v) : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<64xf32>
    %w = graph.call @narrow(%q) : (tensor<4096xf32>) -> tensor<64xf32>
    %o = graph.call @add(%u, %w) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %o : tensor<64xf32>
  }
  %z = scf.for %i = %c0 to %last step %c1 iter_args(%s = %x) -> (tensor<64xf32>) {
    %r = graph.call @narrow(%p) : (tensor<4096xf32>) -> tensor<64xf32>
    %a = graph.call @wide(%s) : (tensor<64xf32>) -> tensor<4096xf32>
    %b = graph.call @wide(%r) : (tensor<64xf32>) -> tensor<4096xf32>
    %c = graph.call @narrow(%a) : (tensor<4096xf32>) -> tensor<64xf32>
    %d = graph.call @narrow(%b) : (tensor<4096xf32>) -> tensor<64xf32>
    %e = graph.call @add(%c, %d) : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
    scf.yield %e : tensor<64xf32>
  }
  func.return %y, %z : tensor<64xf32>, tensor<64xf32>
}
