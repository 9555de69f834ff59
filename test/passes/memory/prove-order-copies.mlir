// What no order can do without. The transpose: rows that are written are columns of what is read. The concatenation:
// its buffer is live from its first part on, as is that part apart from it if that is made before.
// RUN: mini-opt %s -p bufferize,elide-copies,plan-arena,prove-order,verify-arena --split-input-file | filecheck %s

graph.kernel @relu(%x: tensor<8x32xf32>) -> tensor<8x32xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.relu %x : tensor<8x32xf32>
  graph.yield %r : tensor<8x32xf32>
}
graph.kernel @transpose(%x: tensor<8x32xf32>) -> tensor<32x8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [32, 8] from 0 [1, 32] at 0 [8, 1]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.transpose %x {permutation = array<i64: 1, 0>} : (tensor<8x32xf32>) -> tensor<32x8xf32>
  graph.yield %r : tensor<32x8xf32>
}
graph.kernel @sum(%x: tensor<32x8xf32>) -> tensor<32x1xf32> attributes {interface = #kernel.interface<strided_operands = [0]>} {
  %r = graph.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<32x8xf32>) -> tensor<32x1xf32>
  graph.yield %r : tensor<32x1xf32>
}

// %a and %b, 1024 bytes each.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  arena_bytes = 2048
// CHECK-SAME:  kernel.order = {bound = 2048
func.func @main(%x: tensor<8x32xf32>) -> tensor<32x1xf32> {
  %a = graph.call @relu(%x) : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = graph.call @transpose(%a) : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %c = graph.call @sum(%b) : (tensor<32x8xf32>) -> tensor<32x1xf32>
  func.return %c : tensor<32x1xf32>
}

// -----

graph.kernel @wide(%x: tensor<2x64xf32>) -> tensor<2x64xf32> attributes {interface = #kernel.interface<strided_operands = [0], strided_results = [0], scratch = 512>} {
  %r = graph.softmax %x {axis = 1 : i64} : tensor<2x64xf32>
  graph.yield %r : tensor<2x64xf32>
}
graph.kernel @concat(%x: tensor<2x64xf32>, %y: tensor<2x64xf32>) -> tensor<2x128xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [2, 64] from 0 [64, 1] at 0 [128, 1], 1 to 0 sizes [2, 64] from 0 [64, 1] at 64 [128, 1]], strided_operands = [0, 1], strided_results = [0]>} {
  %r = graph.concat %x, %y {axis = 1 : i64} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x128xf32>
  graph.yield %r : tensor<2x128xf32>
}
graph.kernel @total(%x: tensor<2x128xf32>) -> tensor<2x1xf32> attributes {interface = #kernel.interface<strided_operands = [0]>} {
  %r = graph.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<2x128xf32>) -> tensor<2x1xf32>
  graph.yield %r : tensor<2x1xf32>
}

// The 1024 bytes of %c from %a on, and 512 of scratch.
// CHECK-LABEL: func.func @main
// CHECK-SAME:  arena_bytes = 1536
// CHECK-SAME:  kernel.order = {bound = 1536
func.func @main(%x: tensor<2x64xf32>) -> tensor<2x1xf32> {
  %a = graph.call @wide(%x) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %b = graph.call @wide(%x) : (tensor<2x64xf32>) -> tensor<2x64xf32>
  %c = graph.call @concat(%a, %b) : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x128xf32>
  %d = graph.call @total(%c) : (tensor<2x128xf32>) -> tensor<2x1xf32>
  func.return %d : tensor<2x1xf32>
}
