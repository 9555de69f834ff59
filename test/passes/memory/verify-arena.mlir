// RUN: mini-opt %s -p verify-arena --split-input-file --verify-diagnostics | filecheck %s

// Right: %b may lie where %a was, as %a dies at step 1 and %b is born at step 2. Before it is overwritten in place at step 4,
// %b has no gap.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  %b = memref.view %arena[%c0][] {buffer = 1, birth = 2, death = 6, name = "b"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%b : memref<64xf32>) outs(%b : memref<64xf32>)
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// Right: between its rows %a has bytes that nobody writes. What is touched in a loop, %b, lives through the whole loop.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @rows(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<4x8xf32>
  graph.yield %r : tensor<4x8xf32>
}
graph.kernel @rows2(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<64xf32>) attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<4x8xf32>
  %z = graph.constant dense<0.0> : tensor<64xf32>
  graph.yield %r, %z : tensor<4x8xf32>, tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 512, lower_bound = 512, binding_step = 3, proven_bound = 512, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c256 = arith.constant 256 : index
  %line = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, name = "line"} : memref<512xi8> to memref<64xf32>
  %a = memref.reinterpret_cast %line to offset: [0], sizes: [4, 8], strides: [16, 1] : memref<64xf32> to memref<4x8xf32, strided<[16, 1]>>
  %xs = memref.reinterpret_cast %x to offset: [0], sizes: [4, 8], strides: [16, 1] : memref<64xf32> to memref<4x8xf32, strided<[16, 1]>>
  %c = memref.view %arena[%c256][] {buffer = 2, birth = 2, death = 6, name = "c"} : memref<512xi8> to memref<64xf32>
  %b = memref.view %arena[%c0][] {buffer = 1, birth = 3, death = 6, name = "b"} : memref<512xi8> to memref<64xf32>
  kernel.call @rows ins(%xs : memref<4x8xf32, strided<[16, 1]>>) outs(%a : memref<4x8xf32, strided<[16, 1]>>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @rows2 ins(%a : memref<4x8xf32, strided<[16, 1]>>) outs(%a, %c : memref<4x8xf32, strided<[16, 1]>>, memref<64xf32>)
  scf.for %i = %c0 to %c2 step %c1 {
    kernel.call @k ins(%c : memref<64xf32>) outs(%y : memref<64xf32>)
    kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
    kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  }
  func.return
}

// -----

// %b overwrites %a while it is still to be read. The recorded lifetimes hide it; the bytes don't.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 128, arena_bytes = 512, lower_bound = 512, binding_step = 0, proven_bound = 512, optimal = true}} {
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

// %b takes a part of %a that is written once more before %a is read: only the recorded lifetimes clash. %n lies between
// them, and never lives together with either.
// expected-error @unknown {{a and b are live together at step 2 and share bytes [128, 256)}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @half(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 384, binding_step = 2, proven_bound = 384, optimal = false}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %n = memref.view %arena[%c64][] {buffer = 2, birth = 0, death = 1, name = "n"} : memref<256xi8> to memref<32xf32>
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 1, death = 5, name = "a"} : memref<256xi8> to memref<64xf32>
  %end = memref.view %arena[%c128][] {buffer = 0, birth = 1, death = 5, name = "a"} : memref<256xi8> to memref<32xf32>
  %b = memref.view %arena[%c128][] {buffer = 1, birth = 2, death = 3, name = "b"} : memref<256xi8> to memref<32xf32>
  %w = memref.reinterpret_cast %x to offset: [0], sizes: [32], strides: [1] : memref<64xf32> to memref<32xf32>
  kernel.call @half ins(%w : memref<32xf32>) outs(%n : memref<32xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @half ins(%w : memref<32xf32>) outs(%b : memref<32xf32>)
  kernel.call @half ins(%w : memref<32xf32>) outs(%end : memref<32xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The record of a lifetime is one step short.
// expected-error @unknown {{a: recorded as live in [0, 1), but accessed in [0, 2)}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
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
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
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
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
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
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
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
func.func @main(%x: memref<32xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
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
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c64][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The certificate claims that fewer bytes are live than there are.
// expected-error @unknown {{256 bytes are live at step 0, the plan's bound is 192}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 192, binding_step = 0, proven_bound = 192, optimal = true}} {
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
func.func @main(%x: memref<32xf32> {graph.role = "input"}, %y: memref<32xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c64][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<32xf32>
  kernel.call @k ins(%x : memref<32xf32>) outs(%a : memref<32xf32>)
  kernel.call @k ins(%a : memref<32xf32>) outs(%y : memref<32xf32>)
  func.return
}

// -----

// A bound that is too high: the plan would pass for better than it is.
// expected-error @unknown {{256 bytes are live at step 0, the plan's bound is 320}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 320, binding_step = 0, proven_bound = 320, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The step that binds is another.
// expected-error @unknown {{the plan's bound is reached at step 0, not at step 2}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 2, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// Less is proven than the bound.
// expected-error @unknown {{the plan claims to prove 192, which is not in [256, 256]}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 192, optimal = false}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// More is proven than the arena has.
// expected-error @unknown {{the plan claims to prove 512, which is not in [256, 256]}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 512, optimal = false}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// An optimal plan that is not called so.
// expected-error @unknown {{the arena has 256 bytes and 256 are proven: optimal is wrong}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = false}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// What starts at multiples of 48 is aligned for no vector.
// expected-error @unknown {{the plan's alignment 48 is not a power of two}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 48, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// Optimal is claimed without a proof: 256 bytes would do, but %b lies higher than it must.
// expected-error @unknown {{the arena has 512 bytes and 256 are proven: optimal is wrong}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 512, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<512xi8> to memref<64xf32>
  %b = memref.view %arena[%c256][] {buffer = 1, birth = 2, death = 4, name = "b"} : memref<512xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The arena is larger than what lies in it.
// expected-error @unknown {{the arena has 512 bytes, but its highest buffer ends at 256}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 512, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = false}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<512xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The plan was made for another arena.
// expected-error @unknown {{the arena has 512 bytes, the plan claims 256}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<512xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// %a is overwritten at step 2 and its old bytes count for nothing before that, but the plan does not say so.
// expected-error @unknown {{a: recorded as free in no steps, but its bytes are dead in [2, 3)}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 5, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The other way round: %a is said to be free between its write and its read.
// expected-error @unknown {{a: recorded as free in [1, 2), but its bytes are dead in no steps}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, gaps = [[1, 2]], name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The first round of the loop reads what was written before it, the second what %b has left there.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  %b = memref.view %arena[%c0][] {buffer = 1, birth = 2, death = 4, name = "b"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  scf.for %i = %c0 to %c2 step %c1 {
    // expected-error @below {{inside (kernel.call), step 1: reads a, but b has written byte 0}}
    kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>) loc("inside")
    kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  }
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// Scratch in what is said to be a gap of %a. In a main with a loop nothing but the bytes tells that there is none.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @scratch(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<scratch = 256>} {
  %r = graph.softmax %x {axis = 0 : i64} : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, gaps = [[1, 2]], name = "a"} : memref<256xi8> to memref<64xf32>
  %s = memref.view %arena[%c0][] {kernel.scratch, buffer = 1, birth = 1, death = 2, name = "s"} : memref<256xi8> to memref<256xi8>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  scf.for %i = %c0 to %c2 step %c1 {
    kernel.call @scratch ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) scratch(%s : memref<256xi8>)
  }
  // expected-error @below {{last (kernel.call), step 2: reads a, but s has written byte 0}}
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>) loc("last")
  func.return
}

// -----

// The record of a lifetime begins a step too early: the bound might be too high for it.
// expected-error @unknown {{a: recorded as live in [0, 3), but accessed in [1, 3)}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// Two results in the same bytes.
graph.kernel @two(%x: tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>) attributes {interface = #kernel.interface<inplace = [[0, 0], [0, 1]]>} {
  %r = graph.relu %x : tensor<64xf32>
  %s = graph.neg %x : tensor<64xf32>
  graph.yield %r, %s : tensor<64xf32>, tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 1, name = "a"} : memref<256xi8> to memref<64xf32>
  // expected-error @below {{first (kernel.call), step 0: result 1 and result 0 share bytes, which @two does not allow}}
  kernel.call @two ins(%x : memref<64xf32>) outs(%a, %a : memref<64xf32>, memref<64xf32>) loc("first")
  func.return
}

// -----

// In place, but not at the same place: the result begins in the middle of the operand.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @half(%x: tensor<32xf32>) -> tensor<32xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, name = "a"} : memref<256xi8> to memref<64xf32>
  %low = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, name = "low"} : memref<256xi8> to memref<32xf32>
  %high = memref.view %arena[%c64][] {buffer = 0, birth = 0, death = 3, name = "high"} : memref<256xi8> to memref<32xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  // expected-error @below {{second (kernel.call), step 1: result 0 and operand 0 share bytes, which @half does not allow}}
  kernel.call @half ins(%low : memref<32xf32>) outs(%high : memref<32xf32>) loc("second")
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// In place over the operand that the interface does not name.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @sub(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[1, 0]]>} {
  %r = graph.sub %a, %b : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  // expected-error @below {{second (kernel.call), step 1: result 0 and operand 0 share bytes, which @sub does not allow}}
  kernel.call @sub ins(%a, %x : memref<64xf32>, memref<64xf32>) outs(%a : memref<64xf32>) loc("second")
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// The buffer begins in front of the arena.
// expected-error @unknown {{a: bytes [-64, 192) lie outside of the arena}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c64 = arith.constant -64 : index
  %a = memref.view %arena[%c64][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}
