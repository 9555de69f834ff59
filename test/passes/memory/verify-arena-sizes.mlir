// RUN: mini-opt %s -p verify-arena --split-input-file --verify-diagnostics | filecheck %s

// Judged is the plan at the shapes that the module is made for: of 16 tokens %a takes 512 bytes, and %b is behind them.
// The module stays as it is, its sizes too.
// CHECK:       kernel.call @k ins(%b : memref<(tokens)x8xf32>) outs(%y : memref<(tokens)x8xf32>)
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0 in [0, 65536] live [0, 2], offset "buffer b" = 512 in [0, 65536] live [1, 3]>} {
  graph.kernel @k(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  func.func @main(%x: memref<(tokens)x8xf32> {graph.role = "input"}, %y: memref<(tokens)x8xf32> {graph.role = "output"}, %arena: memref<1024xi8> {graph.role = "arena"}, %sizes: memref<3xi64> {graph.role = "sizes"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 1024, lower_bound = 1024, binding_step = 1, proven_bound = 1024, optimal = true}} {
    %at_a = arith.constant ("buffer a") : index
    %at_b = arith.constant ("buffer b") : index
    %a = memref.view %arena[%at_a][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<1024xi8> to memref<(tokens)x8xf32>
    %b = memref.view %arena[%at_b][] {buffer = 1, birth = 1, death = 3, name = "b"} : memref<1024xi8> to memref<(tokens)x8xf32>
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%a : memref<(tokens)x8xf32>)
    kernel.call @k ins(%a : memref<(tokens)x8xf32>) outs(%b : memref<(tokens)x8xf32>)
    kernel.call @k ins(%b : memref<(tokens)x8xf32>) outs(%y : memref<(tokens)x8xf32>)
    func.return
  }
}

// -----

// Here it is not: %b begins at byte 256.
// expected-error @unknown {{kernel.call, step 1: result 0 and operand 0 share bytes, which @k does not allow}}
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0 in [0, 65536] live [0, 2], offset "buffer b" = 256 in [0, 65536] live [1, 3]>} {
  graph.kernel @k(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  func.func @main(%x: memref<(tokens)x8xf32> {graph.role = "input"}, %y: memref<(tokens)x8xf32> {graph.role = "output"}, %arena: memref<1024xi8> {graph.role = "arena"}, %sizes: memref<3xi64> {graph.role = "sizes"}) attributes {kernel.plan = {alignment = 256, arena_bytes = 1024, lower_bound = 1024, binding_step = 1, proven_bound = 1024, optimal = true}} {
    %at_a = arith.constant ("buffer a") : index
    %at_b = arith.constant ("buffer b") : index
    %a = memref.view %arena[%at_a][] {buffer = 0, birth = 0, death = 2, name = "a"} : memref<1024xi8> to memref<(tokens)x8xf32>
    %b = memref.view %arena[%at_b][] {buffer = 1, birth = 1, death = 3, name = "b"} : memref<1024xi8> to memref<(tokens)x8xf32>
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%a : memref<(tokens)x8xf32>)
    kernel.call @k ins(%a : memref<(tokens)x8xf32>) outs(%b : memref<(tokens)x8xf32>)
    kernel.call @k ins(%b : memref<(tokens)x8xf32>) outs(%y : memref<(tokens)x8xf32>)
    func.return
  }
}
