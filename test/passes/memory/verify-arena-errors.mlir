// Modules that verify-arena can't judge, each refused by what it lacks.
// RUN: mini-opt %s -p verify-arena --split-input-file --verify-diagnostics

// expected-error @unknown {{verify-arena: the module has no function @main}}
func.func @other() {
  func.return
}

// -----

// expected-error @unknown {{verify-arena: main has no argument with the role 'arena'; run plan-arena first}}
func.func @main(%x: memref<64xf32> {graph.role = "input"}) {
  func.return
}

// -----

// expected-error @unknown {{verify-arena: main has no kernel.plan; run plan-arena first}}
func.func @main(%arena: memref<0xi8> {graph.role = "arena"}) {
  func.return
}

// -----

// expected-error @unknown {{verify-arena: the kernel.plan of main lacks optimal}}
func.func @main(%arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0}} {
  func.return
}

// -----

// expected-error @unknown {{scf.execute_region: verify-arena supports no other regions than loops and branches}}
func.func @main(%arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  scf.execute_region {
    scf.yield
  }
  func.return
}

// -----

// expected-error @unknown {{verify-arena can't see through memref.alloc}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %a = memref.alloc() : memref<64xf32>
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// expected-error @unknown {{verify-arena can't tell which buffer a loop or a branch yields}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = scf.for %i = %c0 to %c1 step %c1 iter_args(%b = %x) -> (memref<64xf32>) {
    kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
    scf.yield %b : memref<64xf32>
  }
  func.return
}

// -----

// expected-error @unknown {{memref<64xf32, strided<[?]>> is not a buffer with constant strides}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32, strided<[?]>> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  kernel.call @k ins(%x : memref<64xf32, strided<[?]>>) outs(%y : memref<64xf32>)
  func.return
}

// -----

graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %sum = arith.addi %c0, %c0 : index
  // expected-error @below {{shifted (memref.view): not a view of the arena at a constant byte}}
  %a = memref.view %arena[%sum][] {buffer = 0, birth = 0, death = 1, name = "a"} : memref<256xi8> to memref<64xf32> loc("shifted")
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  func.return
}

// -----

graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  // expected-error @below {{a (memref.view): a view of the arena needs the attributes buffer, birth, death}}
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, name = "a"} : memref<256xi8> to memref<64xf32> loc("a")
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  func.return
}

// -----

// expected-error @unknown {{b: the views of buffer 0 disagree about its lifetime}}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<256xi8> to memref<64xf32>
  %b = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3, name = "b"} : memref<256xi8> to memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}

// -----

// What nobody has written can't be read, even where nobody else has written either.
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%y: memref<64xf32> {graph.role = "output"}, %arena: memref<256xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 256, lower_bound = 256, binding_step = 0, proven_bound = 256, optimal = true}} {
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 1, name = "a"} : memref<256xi8> to memref<64xf32>
  // expected-error @below {{first (kernel.call), step 0: reads a, but nobody has written byte 0}}
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>) loc("first")
  func.return
}

// -----

// Of a cache there is what the caller gave and what was written, and nothing behind it.
graph.kernel @k(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  graph.yield %x : tensor<2x3xf32>
}
func.func @main(%a: memref<2x8xf32> {graph.role = "cache", graph.name = "a", graph.cache = #graph.cache<"b", 0 : i64, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x8xf32>>}, %y: memref<2x3xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %read = memref.reinterpret_cast %a to offset: [0], sizes: [2, 3], strides: [8, 1] : memref<2x8xf32> to memref<2x3xf32, strided<[8, 1]>>
  // expected-error @below {{first (kernel.call), step 0: reads cache a, but nobody has written byte 8}}
  kernel.call @k ins(%read : memref<2x3xf32, strided<[8, 1]>>) outs(%y : memref<2x3xf32>) loc("first")
  func.return
}

// -----

// All that a cache holds in the end is there: what was given, and what is written behind it.
// expected-error @unknown {{byte 40 of cache a is never written}}
graph.kernel @k(%x: tensor<1x1xf32>) -> tensor<1x1xf32> {
  graph.yield %x : tensor<1x1xf32>
}
func.func @main(%a: memref<2x8xf32> {graph.role = "cache", graph.name = "a", graph.cache = #graph.cache<"b", 0 : i64, tensor<2x2xf32>, tensor<2x3xf32>, tensor<2x8xf32>>}, %x: memref<1x1xf32> {graph.role = "input"}, %arena: memref<0xi8> {graph.role = "arena"}) attributes {kernel.plan = {alignment = 64, arena_bytes = 0, lower_bound = 0, binding_step = 0, proven_bound = 0, optimal = true}} {
  %row = memref.reinterpret_cast %a to offset: [2], sizes: [1, 1], strides: [8, 1] : memref<2x8xf32> to memref<1x1xf32, strided<[8, 1], offset: 2>>
  kernel.call @k ins(%x : memref<1x1xf32>) outs(%row : memref<1x1xf32, strided<[8, 1], offset: 2>>)
  func.return
}
