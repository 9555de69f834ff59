// RUN: mini-opt %s -p mark-inplace | filecheck %s
// RUN: mini-opt %s -p 'mark-inplace{disable=add,mul}' | filecheck %s --check-prefix=DISABLED
// RUN: not mini-opt %s -p 'mark-inplace{disable=addition}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

// UNKNOWN: mark-inplace: there is no op graph.addition to disable

graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @add(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0], [1, 0]]>} {
  %r = graph.add %a, %b : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @sub_from(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.sub %b, %a : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @rows(%a: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.softmax %a {axis = 1 : i64} : tensor<2x4xf32>
  graph.yield %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @main
// DISABLED-LABEL: func.func @main
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<2x4xf32>) {
  // The operand is the caller's.
  // CHECK:      %a = graph.call @relu(%x) :
  %a = graph.call @relu(%x) : (tensor<8xf32>) -> tensor<8xf32>
  // %a is read again below.
  // CHECK-NEXT: %b = graph.call @relu(%a) :
  %b = graph.call @relu(%a) : (tensor<8xf32>) -> tensor<8xf32>
  // Now both operands are dead afterwards: the younger one gives its bytes.
  // CHECK-NEXT: %c = graph.call @add(%a, %b) {inplace = {{\[\[}}1 : i64, 0 : i64]]} :
  // DISABLED:   %c = graph.call @add(%a, %b) :
  %c = graph.call @add(%a, %b) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // The same value twice, and both places allow it.
  // CHECK-NEXT: %d = graph.call @add(%c, %c) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
  %d = graph.call @add(%c, %c) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // The same value twice, but place 1 must stay as it is while the result is written.
  // CHECK-NEXT: %e = graph.call @sub_from(%d, %d) :
  %e = graph.call @sub_from(%d, %d) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  // The bytes of %e are still read through the reshape.
  // CHECK-NEXT: %f = graph.reshape %e
  // CHECK-NEXT: %g = graph.call @relu(%e) :
  %f = graph.reshape %e {shape = array<i64: 2, 4>} : (tensor<8xf32>) -> tensor<2x4xf32>
  %g = graph.call @relu(%e) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: %h = graph.call @rows(%f) :
  %h = graph.call @rows(%f) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  // %g is returned, so it must not be overwritten; its own result may be.
  // CHECK-NEXT: %i = graph.call @relu(%g) :
  // CHECK-NEXT: %j = graph.call @relu(%i) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
  // DISABLED:   %j = graph.call @relu(%i) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
  %i = graph.call @relu(%g) : (tensor<8xf32>) -> tensor<8xf32>
  %j = graph.call @relu(%i) : (tensor<8xf32>) -> tensor<8xf32>
  func.return %g, %j, %h : tensor<8xf32>, tensor<8xf32>, tensor<2x4xf32>
}
