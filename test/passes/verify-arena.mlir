// RUN: mini-opt %s -p verify-arena --split-input-file --verify-diagnostics | filecheck %s

// Right: %b may lie where %a was, as %a dies at step 1 and %b is born at step 2.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  %b = memref.view %arena[%c0][] {buffer = 1, birth = 2, death = 4, name = "b"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// %b overwrites %a while it is still to be read. The recorded lifetimes hide it; the bytes don't.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 128, arena_bytes = 512, lower_bound = 512}} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 1, name = "a"} : memref<512xi8> to memref<64xf32>
  %b = memref.view %arena[%c128][] {buffer = 1, birth = 1, death = 2, name = "b"} : memref<512xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  // expected-error @below {{third (kernel.call), step 2: reads a, but b has written byte 128}}
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>) loc("third")
  func.return
}

// -----

// Nobody reads %a any more, but the plan says that it lives together with %b.
// expected-error @unknown {{a and b are live together at step 1 and share bytes [128, 256)}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 128, arena_bytes = 512, lower_bound = 512}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c128 = arith.constant 128 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<512xi8> to memref<64xf32>
  %b = memref.view %arena[%c128][] {buffer = 1, birth = 1, death = 3, name = "b"} : memref<512xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  scf.for %i = %c0 to %c1 step %c1 {
    kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  }
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The record of a lifetime is one step short.
// expected-error @unknown {{a: recorded as live in [0, 1), but accessed in [0, 2)}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 1, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// In place, where the interface has no such pair.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.softmax %x {axis = 0 : i64} : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  // expected-error @below {{second (kernel.call), step 1: result 0 and operand 0 share bytes, which @k does not allow}}
  kernel.call @k ins(%a : memref<64xf32>) outs(%a : memref<64xf32>) loc("second")
  func.return
}

// -----

// Scratch lies under an operand.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<scratch = 64>} {
  %r = graph.softmax %x {axis = 0 : i64} : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  %s = memref.view %arena[%c64][] {kernel.scratch, buffer = 1, birth = 1, death = 2, name = "s"} : memref<256xi8> to memref<64xi8>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  // expected-error @below {{second (kernel.call), step 1: scratch 0 and operand 0 share bytes, which @k does not allow}}
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>) scratch(%s : memref<64xi8>) loc("second")
  func.return
}

// -----

// Inputs are not ours to write.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0}} {
  // expected-error @below {{first (kernel.call), step 0: writes x, which is read-only}}
  kernel.call @k ins(%x : memref<64xf32>) outs(%x : memref<64xf32>) loc("first")
  func.return
}

// -----

// Half of the output is never written.
// expected-error @unknown {{byte 128 of output y is never written}}
graph.kernel @k(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<32xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0}} {
  %half = memref.reinterpret_cast %y to offset: [0], sizes: [32], strides: [1] : memref<64xf32> to memref<32xf32>
  kernel.call @k ins(%x : memref<32xf32>) outs(%half : memref<32xf32>)
  func.return
}

// -----

// The arena ends before the buffer does.
// expected-error @unknown {{a: bytes [64, 320) lie outside of the arena}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256}} {
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c64][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The certificate claims that fewer bytes are live than there are.
// expected-error @unknown {{256 bytes are live at step 0, above the plan's lower bound 192}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 192}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// A buffer that does not start at a multiple of the alignment.
// expected-error @unknown {{a starts at 64, which is not aligned to 256}}
graph.kernel @k(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<32xf32> {graph.role = "input"}, %y: memref<32xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256}} {
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c64][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<32xf32>
  kernel.call @k ins(%x : memref<32xf32>) outs(%a : memref<32xf32>)
  kernel.call @k ins(%a : memref<32xf32>) outs(%y : memref<32xf32>)
  func.return
}
