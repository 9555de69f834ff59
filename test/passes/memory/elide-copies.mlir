// RUN: mini-opt %s -p elide-copies | filecheck %s

// Kernels named *_strided take strides everywhere, the others nowhere.
graph.kernel @relu(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<2x4xf32>
  graph.yield %r : tensor<2x4xf32>
}
graph.kernel @relu_strided(%x: tensor<2x4xf32>) -> tensor<2x4xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.relu %x : tensor<2x4xf32>
  graph.yield %r : tensor<2x4xf32>
}
graph.kernel @flat_relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @flatten(%x: tensor<2x4xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [8] from 0 [1] at 0 [1]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.reshape %x {shape = array<i64: 8>} : (tensor<2x4xf32>) -> tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @rows(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<4x4xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [2, 4] from 0 [4, 1] at 0 [4, 1], 1 to 0 sizes [2, 4] from 0 [4, 1] at 8 [4, 1]], strided_operands = [0, 1], strided_results = [0]>} {
  %r = graph.concat %a, %b {axis = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
  graph.yield %r : tensor<4x4xf32>
}
graph.kernel @columns(%a: tensor<2x4xf32>, %b: tensor<2x4xf32>) -> tensor<2x8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [2, 4] from 0 [4, 1] at 0 [8, 1], 1 to 0 sizes [2, 4] from 0 [4, 1] at 4 [8, 1]], strided_operands = [0, 1], strided_results = [0]>} {
  %r = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  graph.yield %r : tensor<2x8xf32>
}
graph.kernel @halves(%x: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {interface = #kernel.interface<moves = [0 to 0 sizes [2, 4] from 0 [4, 1] at 0 [4, 1], 0 to 1 sizes [2, 4] from 8 [4, 1] at 0 [4, 1]], strided_operands = [0], strided_results = [0, 1]>} {
  %a = graph.slice %x {starts = array<i64: 0, 0>, stops = array<i64: 2, 4>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %b = graph.slice %x {starts = array<i64: 2, 0>, stops = array<i64: 4, 4>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<2x4xf32>
  graph.yield %a, %b : tensor<2x4xf32>, tensor<2x4xf32>
}
graph.kernel @double(%x: tensor<4x4xf32>) -> tensor<4x4xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.add %x, %x : tensor<4x4xf32>
  graph.yield %r : tensor<4x4xf32>
}
graph.kernel @double_columns(%x: tensor<2x8xf32>) -> tensor<2x8xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.add %x, %x : tensor<2x8xf32>
  graph.yield %r : tensor<2x8xf32>
}

func.func @main(%x: memref<2x4xf32> {graph.role = "input"}, %y0: memref<8xf32> {graph.role = "output"}, %y1: memref<4x4xf32> {graph.role = "output"}, %y2: memref<2x8xf32> {graph.role = "output"}, %y3: memref<2x4xf32> {graph.role = "output"}, %y4: memref<8xf32> {graph.role = "output"}) {
  // A reshape of an allocation is the allocation; in place goes through the view.
  // CHECK:      %a = memref.alloc() {name = "a"} : memref<2x4xf32>
  // CHECK-NEXT: kernel.call @relu ins(%x : memref<2x4xf32>) outs(%a : memref<2x4xf32>)
  // CHECK-NEXT: %b = memref.reinterpret_cast %a to offset: [0], sizes: [8], strides: [1] {name = "b"} : memref<2x4xf32> to memref<8xf32>
  // CHECK-NEXT: kernel.call @flat_relu ins(%b : memref<8xf32>) outs(%b : memref<8xf32>)
  // CHECK-NEXT: kernel.call @flat_relu ins(%b : memref<8xf32>) outs(%y0 : memref<8xf32>)
  %a = memref.alloc() {name = "a"} : memref<2x4xf32>
  kernel.call @relu ins(%x : memref<2x4xf32>) outs(%a : memref<2x4xf32>)
  %b = memref.alloc() {name = "b"} : memref<8xf32>
  kernel.call @flatten ins(%a : memref<2x4xf32>) outs(%b : memref<8xf32>)
  kernel.call @flat_relu ins(%b : memref<8xf32>) outs(%b : memref<8xf32>)
  kernel.call @flat_relu ins(%b : memref<8xf32>) outs(%y0 : memref<8xf32>)

  // Rows of a concatenation are dense parts of the arena: every kernel takes them. The allocation moves up.
  // CHECK-NEXT: %e = memref.alloc() {name = "e"} : memref<4x4xf32>
  // CHECK-NEXT: %c = memref.reinterpret_cast %e to offset: [0], sizes: [2, 4], strides: [4, 1] {name = "c"} : memref<4x4xf32> to memref<2x4xf32>
  // CHECK-NEXT: kernel.call @relu ins(%x : memref<2x4xf32>) outs(%c : memref<2x4xf32>)
  // CHECK-NEXT: %d = memref.reinterpret_cast %e to offset: [8], sizes: [2, 4], strides: [4, 1] {name = "d"} : memref<4x4xf32> to memref<2x4xf32, strided<[4, 1], offset: 8>>
  // CHECK-NEXT: kernel.call @relu ins(%x : memref<2x4xf32>) outs(%d : memref<2x4xf32, strided<[4, 1], offset: 8>>)
  // CHECK-NEXT: kernel.call @double ins(%e : memref<4x4xf32>) outs(%y1 : memref<4x4xf32>)
  %c = memref.alloc() {name = "c"} : memref<2x4xf32>
  kernel.call @relu ins(%x : memref<2x4xf32>) outs(%c : memref<2x4xf32>)
  %d = memref.alloc() {name = "d"} : memref<2x4xf32>
  kernel.call @relu ins(%x : memref<2x4xf32>) outs(%d : memref<2x4xf32>)
  %e = memref.alloc() {name = "e"} : memref<4x4xf32>
  kernel.call @rows ins(%c, %d : memref<2x4xf32>, memref<2x4xf32>) outs(%e : memref<4x4xf32>)
  kernel.call @double ins(%e : memref<4x4xf32>) outs(%y1 : memref<4x4xf32>)

  // Columns have holes between their rows: %f's kernel takes them, %g's doesn't and stays a copy of its own.
  // CHECK-NEXT: %h = memref.alloc() {name = "h"} : memref<2x8xf32>
  // CHECK-NEXT: %f = memref.reinterpret_cast %h to offset: [0], sizes: [2, 4], strides: [8, 1] {name = "f"} : memref<2x8xf32> to memref<2x4xf32, strided<[8, 1]>>
  // CHECK-NEXT: kernel.call @relu_strided ins(%x : memref<2x4xf32>) outs(%f : memref<2x4xf32, strided<[8, 1]>>)
  // CHECK-NEXT: %g = memref.alloc() {name = "g"} : memref<2x4xf32>
  // CHECK-NEXT: kernel.call @relu ins(%x : memref<2x4xf32>) outs(%g : memref<2x4xf32>)
  // CHECK-NEXT: %[[PART:.*]] = memref.reinterpret_cast %h to offset: [4], sizes: [2, 4], strides: [8, 1]
  // CHECK-NEXT: kernel.call @copy_0 ins(%g : memref<2x4xf32>) outs(%[[PART]] : memref<2x4xf32, strided<[8, 1], offset: 4>>)
  // CHECK-NEXT: kernel.call @double_columns ins(%h : memref<2x8xf32>) outs(%y2 : memref<2x8xf32>)
  %f = memref.alloc() {name = "f"} : memref<2x4xf32>
  kernel.call @relu_strided ins(%x : memref<2x4xf32>) outs(%f : memref<2x4xf32>)
  %g = memref.alloc() {name = "g"} : memref<2x4xf32>
  kernel.call @relu ins(%x : memref<2x4xf32>) outs(%g : memref<2x4xf32>)
  %h = memref.alloc() {name = "h"} : memref<2x8xf32>
  kernel.call @columns ins(%f, %g : memref<2x4xf32>, memref<2x4xf32>) outs(%h : memref<2x8xf32>)
  kernel.call @double_columns ins(%h : memref<2x8xf32>) outs(%y2 : memref<2x8xf32>)

  // Both halves of a split are parts of what is split, also where one of them is overwritten in place.
  // CHECK-NEXT: %i = memref.alloc() {name = "i"} : memref<4x4xf32>
  // CHECK-NEXT: kernel.call @double ins(%y1 : memref<4x4xf32>) outs(%i : memref<4x4xf32>)
  // CHECK-NEXT: %j = memref.reinterpret_cast %i to offset: [0]
  // CHECK-NEXT: kernel.call @relu ins(%j : memref<2x4xf32>) outs(%j : memref<2x4xf32>)
  // CHECK-NEXT: %k = memref.reinterpret_cast %i to offset: [8]
  // CHECK-NEXT: kernel.call @relu_strided ins(%k : memref<2x4xf32, strided<[4, 1], offset: 8>>) outs(%y3 : memref<2x4xf32>)
  %i = memref.alloc() {name = "i"} : memref<4x4xf32>
  kernel.call @double ins(%y1 : memref<4x4xf32>) outs(%i : memref<4x4xf32>)
  %j = memref.alloc() {name = "j"} : memref<2x4xf32>
  %k = memref.alloc() {name = "k"} : memref<2x4xf32>
  kernel.call @halves ins(%i : memref<4x4xf32>) outs(%j, %k : memref<2x4xf32>, memref<2x4xf32>)
  kernel.call @relu ins(%j : memref<2x4xf32>) outs(%j : memref<2x4xf32>)
  kernel.call @relu_strided ins(%k : memref<2x4xf32>) outs(%y3 : memref<2x4xf32>)

  // What is reshaped only to be returned is made in the caller's memory.
  // CHECK-NEXT: %l = memref.reinterpret_cast %y4 to offset: [0], sizes: [2, 4], strides: [4, 1] {name = "l"} : memref<8xf32> to memref<2x4xf32>
  // CHECK-NEXT: kernel.call @relu ins(%x : memref<2x4xf32>) outs(%l : memref<2x4xf32>)
  // CHECK-NEXT: func.return
  %l = memref.alloc() {name = "l"} : memref<2x4xf32>
  kernel.call @relu ins(%x : memref<2x4xf32>) outs(%l : memref<2x4xf32>)
  kernel.call @flatten ins(%l : memref<2x4xf32>) outs(%y4 : memref<8xf32>)
  func.return
}
