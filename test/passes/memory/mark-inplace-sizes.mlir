// RUN: mini-opt %s -p mark-inplace | filecheck %s

// Buffers of as many bytes as there are tokens are overwritten like any other. One read through a reshape, to other
// sizes of the same product, is not while that is still to be read.
// CHECK-LABEL: func.func @main
// CHECK:      %a = graph.call @relu(%x) :
// CHECK-NEXT: %b = graph.call @relu(%a) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
// CHECK-NEXT: %flat = graph.reshape %b {shape = array<i64: (batch * tokens)>}
// CHECK-NEXT: %c = graph.call @relu(%b) :
// CHECK-NEXT: %d = graph.call @flat_add(%flat, %y) {inplace = {{\[\[}}0 : i64, 0 : i64]]} :
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  graph.kernel @relu(%x: tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<(batch)x(tokens)xf32>
    graph.yield %r : tensor<(batch)x(tokens)xf32>
  }
  graph.kernel @flat_add(%a: tensor<(batch * tokens)xf32>, %b: tensor<(batch * tokens)xf32>) -> tensor<(batch * tokens)xf32> attributes {interface = #kernel.interface<inplace = [[0, 0], [1, 0]]>} {
    %r = graph.add %a, %b : tensor<(batch * tokens)xf32>
    graph.yield %r : tensor<(batch * tokens)xf32>
  }
  func.func @main(%x: tensor<(batch)x(tokens)xf32>, %y: tensor<(batch * tokens)xf32>) -> (tensor<(batch)x(tokens)xf32>, tensor<(batch * tokens)xf32>) {
    %a = graph.call @relu(%x) : (tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32>
    %b = graph.call @relu(%a) : (tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32>
    %flat = graph.reshape %b {shape = array<i64: (batch * tokens)>} : (tensor<(batch)x(tokens)xf32>) -> tensor<(batch * tokens)xf32>
    %c = graph.call @relu(%b) : (tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32>
    %d = graph.call @flat_add(%flat, %y) : (tensor<(batch * tokens)xf32>, tensor<(batch * tokens)xf32>) -> tensor<(batch * tokens)xf32>
    func.return %c, %d : tensor<(batch)x(tokens)xf32>, tensor<(batch * tokens)xf32>
  }
}
