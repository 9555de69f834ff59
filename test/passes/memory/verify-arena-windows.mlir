// RUN: mini-opt %s -p verify-arena --split-input-file --verify-diagnostics | filecheck %s

// Right: each turn writes two rows of %a. They are all there behind the loop.
// CHECK-LABEL: func.func @main
graph.kernel @k(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
graph.kernel @whole(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    %at = arith.muli %i, %c32 : index
    %in = kernel.window %x[%at] : memref<64xf32> to memref<32xf32>
    %out = kernel.window %a[%at] : memref<64xf32> to memref<32xf32>
    kernel.call @k ins(%in : memref<32xf32>) outs(%out : memref<32xf32>)
  }
  kernel.call @whole ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// In the last turn a window ends behind %x.
// expected-error @unknown {{in: a window covers bytes [64, 320) of a buffer of 256}}
graph.kernel @k(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<32xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c1 to %c4 step %c1 {
    %at = arith.muli %i, %c16 : index
    %in = kernel.window %x[%at] {name = "in"} : memref<64xf32> to memref<32xf32>
    kernel.call @k ins(%in : memref<32xf32>) outs(%y : memref<32xf32>)
  }
  func.return
}

// -----

// The loop writes but the first half of the output.
// expected-error @unknown {{byte 128 of output y is never written}}
graph.kernel @k(%x: tensor<16xf32>) -> tensor<16xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}
func.func @main(%x: memref<16xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c2 step %c1 {
    %at = arith.muli %i, %c16 : index
    %out = kernel.window %y[%at] : memref<64xf32> to memref<16xf32>
    kernel.call @k ins(%x : memref<16xf32>) outs(%out : memref<16xf32>)
  }
  func.return
}

// -----

// %a, of which each turn writes a part, is recorded as if it were of one turn: %b lies in its bytes meanwhile.
graph.kernel @k(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
graph.kernel @whole(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c32 = arith.constant 32 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 1, name = "a"} : memref<256xi8> to memref<64xf32>
  %b = memref.view %arena[%c0][] {buffer = 1, birth = 1, death = 3, name = "b"} : memref<256xi8> to memref<64xf32>
  scf.for %i = %c0 to %c2 step %c1 {
    %at = arith.muli %i, %c32 : index
    %in = kernel.window %x[%at] : memref<64xf32> to memref<32xf32>
    %out = kernel.window %a[%at] : memref<64xf32> to memref<32xf32>
    // expected-error @below {{first (kernel.call), step 0: reads a, but b has written byte 0}}
    kernel.call @k ins(%in : memref<32xf32>) outs(%out : memref<32xf32>) loc("first")
    kernel.call @whole ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
    kernel.call @whole ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  }
  func.return
}

// -----

// Where the window lies is read from memory.
// expected-error @unknown {{the place of a window depends on more than constants and loops with constant bounds}}
graph.kernel @k(%x: tensor<16xf32>) -> tensor<16xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %n: memref<i64> {graph.role = "input"}, %y: memref<16xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %number = memref.load %n[] : memref<i64>
  %at = arith.index_cast %number : i64 to index
  %in = kernel.window %x[%at] : memref<64xf32> to memref<16xf32>
  kernel.call @k ins(%in : memref<16xf32>) outs(%y : memref<16xf32>)
  func.return
}
