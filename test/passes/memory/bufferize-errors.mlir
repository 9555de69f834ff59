// RUN: mini-opt %s -p bufferize --split-input-file --verify-diagnostics

// A mark over a value that is read later.
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = graph.call @relu(%x) : (tensor<8xf32>) -> tensor<8xf32> loc("first")
  %b = graph.call @relu(%a) {inplace = [[0, 0]]} : (tensor<8xf32>) -> tensor<8xf32> loc("second")
  // expected-error @below {{third (graph.call): reads what second (graph.call) has overwritten in place}}
  %c = graph.call @relu(%a) : (tensor<8xf32>) -> tensor<8xf32> loc("third")
  func.return %b, %c : tensor<8xf32>, tensor<8xf32>
}

// -----

// A mark over the caller's memory.
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{first (graph.call): in place over an input or a weight}}
  %a = graph.call @relu(%x) {inplace = [[0, 0]]} : (tensor<8xf32>) -> tensor<8xf32> loc("first")
  func.return %a : tensor<8xf32>
}

// -----

// A mark that is no pair of an operand and a result.
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{first (graph.call): [0 : i64, 1 : i64] is not [operand, result]}}
  %a = graph.call @relu(%x) {inplace = [[0, 1]]} : (tensor<8xf32>) -> tensor<8xf32> loc("first")
  func.return %a : tensor<8xf32>
}

// -----

// The graph level has no calls yet.
// expected-error @unknown {{bufferize works at the kernels level; the module is at the graph level}}
builtin.module attributes {mini_infer.level = "graph"} {
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.relu %x : tensor<8xf32> loc("early")
  func.return %a : tensor<8xf32>
}
}

// -----

// An op that went into no kernel.
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{early (graph.relu): bufferize takes calls, reshapes, weights, loops, branches and scalars only}}
  %a = graph.relu %x : tensor<8xf32> loc("early")
  func.return %a : tensor<8xf32>
}

// -----

// A loop that does not hand on all that it is given.
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant true
  // expected-error @below {{scf.while: bufferize supports an scf.while only where its first region computes on scalars and forwards all its arguments}}
  %a, %b = scf.while (%s = %x, %t = %y) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    scf.condition(%c) %t, %s : tensor<8xf32>, tensor<8xf32>
  } do {
  ^bb0(%s: tensor<8xf32>, %t: tensor<8xf32>):
    scf.yield %s, %t : tensor<8xf32>, tensor<8xf32>
  }
  func.return %a : tensor<8xf32>
}

// -----

// Attributes of more arguments than there are.
// expected-error @below {{func.func: arg_attrs has 2 entries instead of 1}}
"func.func"() <{sym_name = "main", function_type = (tensor<8xf32>) -> tensor<8xf32>, arg_attrs = [{}, {}]}> ({
^bb0(%x: tensor<8xf32>):
  func.return %x : tensor<8xf32>
}) : () -> ()

// -----

// Rows inserted into the caller's memory.
func.func @main(%x: tensor<4xf32>, %new: tensor<2xf32>) -> tensor<4xf32> {
  %c1 = arith.constant 1 : index
  // expected-error @below {{put (graph.insert_rows): rows inserted into an input or a weight}}
  %y = graph.insert_rows %x, %new, %c1 {axis = 0 : i64} : (tensor<4xf32>, tensor<2xf32>, index) -> tensor<4xf32> loc("put")
  func.return %y : tensor<4xf32>
}

// -----

// Rows inserted in the last turn where others are read that the loop has carried there.
func.func @main(%x: tensor<1xf32>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %rows = graph.empty : tensor<4xf32>
  %y = scf.for %i = %c0 to %c3 step %c1 iter_args(%all = %rows) -> (tensor<4xf32>) {
    %two = arith.addi %c1, %c1 : index
    %read = graph.extract_rows %all, %two {axis = 0 : i64, size = 1 : i64} : (tensor<4xf32>, index) -> tensor<1xf32>
    // expected-error @below {{put (graph.insert_rows): replaces rows that a graph.extract_rows of the value before reads}}
    %more = graph.insert_rows %all, %x, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<1xf32>, index) -> tensor<4xf32> loc("put")
    scf.yield %more : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
