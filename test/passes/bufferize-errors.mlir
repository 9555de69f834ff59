// RUN: mini-opt %s -p bufferize --split-input-file --verify-diagnostics | filecheck %s

// A mark over a value that is read later.
// CHECK: third (graph.call): reads what second (graph.call) has overwritten in place
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = graph.call @relu(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("first")
  %b = graph.call @relu(%a) {inplace = [[0, 0]]} : (tensor<8xf32>) -> tensor<8xf32> loc("second")
  %c = graph.call @relu(%a) : (tensor<8xf32>) -> tensor<8xf32> loc("third")
  func.return %b, %c : tensor<8xf32>, tensor<8xf32>
}

// -----

// A mark over the caller's memory.
// CHECK: first (graph.call): in place over an input or a weight
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.call @relu(%x) {inplace = [[0, 0]]} : (tensor<8xf32>) -> tensor<8xf32> loc("first")
  func.return %a : tensor<8xf32>
}

// -----

// A mark that is no pair of an operand and a result.
// CHECK: first (graph.call): [0 : i64, 1 : i64] is not [operand, result]
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.call @relu(%x) {inplace = [[0, 1]]} : (tensor<8xf32>) -> tensor<8xf32> loc("first")
  func.return %a : tensor<8xf32>
}

// -----

// The graph level has no calls yet.
// CHECK: early (graph.relu): bufferize takes calls, reshapes and weights only
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.relu %x : tensor<8xf32> loc("early")
  func.return %a : tensor<8xf32>
}
