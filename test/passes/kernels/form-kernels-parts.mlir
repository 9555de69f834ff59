// RUN: mini-opt %s -p form-kernels --split-input-file | filecheck %s

// Rotated halves of heads: what makes each part for the concatenation alone joins it, with the views of x.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[Y:.*]] = graph.call @concat_0(%{{.*}}) : (tensor<1x2x3x8xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3x8xf32>
// CHECK-NEXT:    func.return %[[Y]]
func.func @main(%x: tensor<1x2x3x8xf32>, %c: tensor<3x4xf32>, %s: tensor<3x4xf32>) -> tensor<1x2x3x8xf32> {
  %a = graph.slice %x {starts = array<i64: 0, 0, 0, 0>, stops = array<i64: 1, 2, 3, 4>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x4xf32>
  %b = graph.slice %x {starts = array<i64: 0, 0, 0, 4>, stops = array<i64: 1, 2, 3, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x2x3x8xf32>) -> tensor<1x2x3x4xf32>
  %0 = graph.mul %a, %c : (tensor<1x2x3x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3x4xf32>
  %1 = graph.mul %b, %s : (tensor<1x2x3x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3x4xf32>
  %2 = graph.mul %a, %s : (tensor<1x2x3x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3x4xf32>
  %3 = graph.mul %b, %c : (tensor<1x2x3x4xf32>, tensor<3x4xf32>) -> tensor<1x2x3x4xf32>
  %4 = graph.sub %0, %1 : tensor<1x2x3x4xf32>
  %5 = graph.add %2, %3 : tensor<1x2x3x4xf32>
  %y = graph.concat %4, %5 {axis = 3 : i64} : (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>) -> tensor<1x2x3x8xf32>
  func.return %y : tensor<1x2x3x8xf32>
}

// -----

// The other spelling: turned halves, joined, then multiplied and added; what makes the sum's other operand joins, too.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    %[[Y:.*]] = graph.call @concat_add_0(%{{.*}})
// CHECK-NEXT:    func.return %[[Y]]
func.func @main(%x: tensor<2x3x8xf32>, %c: tensor<3x8xf32>, %s: tensor<3x8xf32>) -> tensor<2x3x8xf32> {
  %a = graph.slice %x {starts = array<i64: 0, 0, 0>, stops = array<i64: 2, 3, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %b = graph.slice %x {starts = array<i64: 0, 0, 4>, stops = array<i64: 2, 3, 8>, steps = array<i64: 1, 1, 1>} : (tensor<2x3x8xf32>) -> tensor<2x3x4xf32>
  %n = graph.neg %b : tensor<2x3x4xf32>
  %t = graph.concat %n, %a {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  %0 = graph.mul %t, %s : (tensor<2x3x8xf32>, tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %1 = graph.mul %x, %c : (tensor<2x3x8xf32>, tensor<3x8xf32>) -> tensor<2x3x8xf32>
  %y = graph.add %1, %0 : tensor<2x3x8xf32>
  func.return %y : tensor<2x3x8xf32>
}

// -----

// A part that is there already, such as a cache, stays, and so does what others read.
// CHECK-LABEL: func.func @main
// CHECK-NEXT:    graph.call @neg_0
// CHECK-NEXT:    graph.call @concat_0
// CHECK-NEXT:    graph.call @exp_0
// CHECK-NEXT:    graph.call @exp_0
// CHECK-NEXT:    graph.call @concat_0
func.func @main(%p: tensor<2x4xf32>, %x: tensor<2x4xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x4xf32>) {
  %n = graph.neg %x : tensor<2x4xf32>
  %0 = graph.concat %p, %n {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %a = graph.exp %x : tensor<2x4xf32>
  %b = graph.exp %p : tensor<2x4xf32>
  %1 = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  func.return %0, %1, %a : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x4xf32>
}
