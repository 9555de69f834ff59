// RUN: mini-opt %s -p elide-copies --split-input-file | filecheck %s

// The halves of a concatenation's columns are views of it; how far apart their entries lie hangs on the tokens.
// CHECK:       %c = memref.alloc() {name = "c"} : memref<(batch)x(tokens)x16xf32>
// CHECK-NEXT:  %a = memref.reinterpret_cast %c to offset: [0], sizes: [(batch), (tokens), 8], strides: [(tokens * 16), 16, 1] {{.*}} to memref<(batch)x(tokens)x8xf32, strided<[(tokens * 16), 16, 1]>>
// CHECK-NEXT:  kernel.call @exp ins(%x : {{.*}}) outs(%a : memref<(batch)x(tokens)x8xf32, strided<[(tokens * 16), 16, 1]>>)
// CHECK-NEXT:  %b = memref.reinterpret_cast %c to offset: [8], sizes: [(batch), (tokens), 8], strides: [(tokens * 16), 16, 1] {{.*}} to memref<(batch)x(tokens)x8xf32, strided<[(tokens * 16), 16, 1], offset: 8>>
// CHECK-NEXT:  kernel.call @exp ins(%x : {{.*}}) outs(%b
// CHECK-NEXT:  kernel.call @relu ins(%c
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  graph.kernel @exp(%x: tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens)x8xf32> attributes {interface = #kernel.interface<strided_results = [0]>} {
    %r = graph.exp %x : tensor<(batch)x(tokens)x8xf32>
    graph.yield %r : tensor<(batch)x(tokens)x8xf32>
  }
  graph.kernel @columns(%a: tensor<(batch)x(tokens)x8xf32>, %b: tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens)x16xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [(batch), (tokens), 8] from 0 [(tokens * 8), 8, 1] at 0 [(tokens * 16), 16, 1], 1 to 0 sizes [(batch), (tokens), 8] from 0 [(tokens * 8), 8, 1] at 8 [(tokens * 16), 16, 1]]>} {
    %r = graph.concat %a, %b {axis = 2 : i64} : (tensor<(batch)x(tokens)x8xf32>, tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens)x16xf32>
    graph.yield %r : tensor<(batch)x(tokens)x16xf32>
  }
  graph.kernel @relu(%x: tensor<(batch)x(tokens)x16xf32>) -> tensor<(batch)x(tokens)x16xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.relu %x : tensor<(batch)x(tokens)x16xf32>
    graph.yield %r : tensor<(batch)x(tokens)x16xf32>
  }
  func.func @main(%x: memref<(batch)x(tokens)x8xf32> {graph.role = "input"}, %y: memref<(batch)x(tokens)x16xf32> {graph.role = "output"}) {
    %a = memref.alloc() {name = "a"} : memref<(batch)x(tokens)x8xf32>
    kernel.call @exp ins(%x : memref<(batch)x(tokens)x8xf32>) outs(%a : memref<(batch)x(tokens)x8xf32>)
    %b = memref.alloc() {name = "b"} : memref<(batch)x(tokens)x8xf32>
    kernel.call @exp ins(%x : memref<(batch)x(tokens)x8xf32>) outs(%b : memref<(batch)x(tokens)x8xf32>)
    %c = memref.alloc() {name = "c"} : memref<(batch)x(tokens)x16xf32>
    kernel.call @columns ins(%a, %b : memref<(batch)x(tokens)x8xf32>, memref<(batch)x(tokens)x8xf32>) outs(%c : memref<(batch)x(tokens)x16xf32>)
    kernel.call @relu ins(%c : memref<(batch)x(tokens)x16xf32>) outs(%y : memref<(batch)x(tokens)x16xf32>)
    func.return
  }
}

// -----

// Rows of it are dense: those of the tokens begin where those of the past end, whatever their number.
// CHECK:       %c = memref.alloc() {name = "c"} : memref<(past + tokens)x8xf32>
// CHECK-NEXT:  %a = memref.reinterpret_cast %c to offset: [0], sizes: [(past), 8], strides: [8, 1] {{.*}} to memref<(past)x8xf32>
// CHECK-NEXT:  kernel.call @exp ins(%x : {{.*}}) outs(%a
// CHECK-NEXT:  %b = memref.reinterpret_cast %c to offset: [(past * 8)], sizes: [(tokens), 8], strides: [8, 1] {{.*}} to memref<(tokens)x8xf32, strided<[8, 1], offset: (past * 8)>>
// CHECK-NEXT:  kernel.call @tanh ins(%z : {{.*}}) outs(%b
// CHECK-NEXT:  kernel.call @relu ins(%c
builtin.module attributes {kernel.symbols = #kernel.symbols<dim past = 4 in [1, 100], dim tokens = 16 in [1, 64]>} {
  graph.kernel @exp(%x: tensor<(past)x8xf32>) -> tensor<(past)x8xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.exp %x : tensor<(past)x8xf32>
    graph.yield %r : tensor<(past)x8xf32>
  }
  graph.kernel @tanh(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.tanh %x : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  graph.kernel @rows(%a: tensor<(past)x8xf32>, %b: tensor<(tokens)x8xf32>) -> tensor<(past + tokens)x8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [(past), 8] from 0 [8, 1] at 0 [8, 1], 1 to 0 sizes [(tokens), 8] from 0 [8, 1] at (past * 8) [8, 1]]>} {
    %r = graph.concat %a, %b {axis = 0 : i64} : (tensor<(past)x8xf32>, tensor<(tokens)x8xf32>) -> tensor<(past + tokens)x8xf32>
    graph.yield %r : tensor<(past + tokens)x8xf32>
  }
  graph.kernel @relu(%x: tensor<(past + tokens)x8xf32>) -> tensor<(past + tokens)x8xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.relu %x : tensor<(past + tokens)x8xf32>
    graph.yield %r : tensor<(past + tokens)x8xf32>
  }
  func.func @main(%x: memref<(past)x8xf32> {graph.role = "input"}, %z: memref<(tokens)x8xf32> {graph.role = "input"}, %y: memref<(past + tokens)x8xf32> {graph.role = "output"}) {
    %a = memref.alloc() {name = "a"} : memref<(past)x8xf32>
    kernel.call @exp ins(%x : memref<(past)x8xf32>) outs(%a : memref<(past)x8xf32>)
    %b = memref.alloc() {name = "b"} : memref<(tokens)x8xf32>
    kernel.call @tanh ins(%z : memref<(tokens)x8xf32>) outs(%b : memref<(tokens)x8xf32>)
    %c = memref.alloc() {name = "c"} : memref<(past + tokens)x8xf32>
    kernel.call @rows ins(%a, %b : memref<(past)x8xf32>, memref<(tokens)x8xf32>) outs(%c : memref<(past + tokens)x8xf32>)
    kernel.call @relu ins(%c : memref<(past + tokens)x8xf32>) outs(%y : memref<(past + tokens)x8xf32>)
    func.return
  }
}

// -----

// Rows of one and of the other in turn, of a length that is known at run time: the second lie as far from the first as these do from the next.
// CHECK:       %c = memref.alloc() {name = "c"} : memref<(batch)x(tokens * 2)x8xf32>
// CHECK-NEXT:  %a = memref.reinterpret_cast %c to offset: [0], sizes: [(batch), (tokens), 8], strides: [(tokens * 16), 8, 1]
// CHECK-NEXT:  kernel.call @exp ins(%x : {{.*}}) outs(%a
// CHECK-NEXT:  %b = memref.reinterpret_cast %c to offset: [(tokens * 8)], sizes: [(batch), (tokens), 8], strides: [(tokens * 16), 8, 1]
// CHECK-NEXT:  kernel.call @exp ins(%x : {{.*}}) outs(%b
// CHECK-NEXT:  kernel.call @relu ins(%c
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  graph.kernel @exp(%x: tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens)x8xf32> attributes {interface = #kernel.interface<strided_results = [0]>} {
    %r = graph.exp %x : tensor<(batch)x(tokens)x8xf32>
    graph.yield %r : tensor<(batch)x(tokens)x8xf32>
  }
  graph.kernel @rows(%a: tensor<(batch)x(tokens)x8xf32>, %b: tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens * 2)x8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [(batch), (tokens), 8] from 0 [(tokens * 8), 8, 1] at 0 [(tokens * 16), 8, 1], 1 to 0 sizes [(batch), (tokens), 8] from 0 [(tokens * 8), 8, 1] at (tokens * 8) [(tokens * 16), 8, 1]]>} {
    %r = graph.concat %a, %b {axis = 1 : i64} : (tensor<(batch)x(tokens)x8xf32>, tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens * 2)x8xf32>
    graph.yield %r : tensor<(batch)x(tokens * 2)x8xf32>
  }
  graph.kernel @relu(%x: tensor<(batch)x(tokens * 2)x8xf32>) -> tensor<(batch)x(tokens * 2)x8xf32> attributes {interface = #kernel.interface<>} {
    %r = graph.relu %x : tensor<(batch)x(tokens * 2)x8xf32>
    graph.yield %r : tensor<(batch)x(tokens * 2)x8xf32>
  }
  func.func @main(%x: memref<(batch)x(tokens)x8xf32> {graph.role = "input"}, %y: memref<(batch)x(tokens * 2)x8xf32> {graph.role = "output"}) {
    %a = memref.alloc() {name = "a"} : memref<(batch)x(tokens)x8xf32>
    kernel.call @exp ins(%x : memref<(batch)x(tokens)x8xf32>) outs(%a : memref<(batch)x(tokens)x8xf32>)
    %b = memref.alloc() {name = "b"} : memref<(batch)x(tokens)x8xf32>
    kernel.call @exp ins(%x : memref<(batch)x(tokens)x8xf32>) outs(%b : memref<(batch)x(tokens)x8xf32>)
    %c = memref.alloc() {name = "c"} : memref<(batch)x(tokens * 2)x8xf32>
    kernel.call @rows ins(%a, %b : memref<(batch)x(tokens)x8xf32>, memref<(batch)x(tokens)x8xf32>) outs(%c : memref<(batch)x(tokens * 2)x8xf32>)
    kernel.call @relu ins(%c : memref<(batch)x(tokens * 2)x8xf32>) outs(%y : memref<(batch)x(tokens * 2)x8xf32>)
    func.return
  }
}
