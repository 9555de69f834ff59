// RUN: mini-opt %s -p elide-copies | filecheck %s

graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @copy(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [8] from 0 [1] at 0 [1]], strided_operands = [0], strided_results = [0]>} {
  graph.yield %x : tensor<8xf32>
}
graph.kernel @ends(%x: tensor<4096xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [8] from 0 [1] at 0 [1]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.slice %x {starts = array<i64: 0>, stops = array<i64: 8>, steps = array<i64: 1>} : (tensor<4096xf32>) -> tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
graph.kernel @widen(%x: tensor<8xf32>) -> tensor<4096xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.pad %x {low = array<i64: 0>, high = array<i64: 4088>, mode = "constant", value = 0.0 : f64} : (tensor<8xf32>) -> tensor<4096xf32>
  graph.yield %r : tensor<4096xf32>
}
graph.kernel @narrow(%x: tensor<4096xf32>, %y: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<strided_operands = [0, 1], strided_results = [0]>} {
  %s = graph.reduce_sum %x {axes = array<i64: 0>, keepdims} : (tensor<4096xf32>) -> tensor<1xf32>
  %r = graph.add %s, %y : (tensor<1xf32>, tensor<8xf32>) -> tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}

func.func @main(%x: memref<8xf32> {graph.role = "input"}, %y0: memref<8xf32> {graph.role = "output"}, %y1: memref<8xf32> {graph.role = "output"}, %y2: memref<8xf32> {graph.role = "output"}) {
  // The copy is overwritten while the original is still needed.
  // CHECK: kernel.call @copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  %a = memref.alloc() {name = "a"} : memref<8xf32>
  kernel.call @relu ins(%x : memref<8xf32>) outs(%a : memref<8xf32>)
  %b = memref.alloc() {name = "b"} : memref<8xf32>
  kernel.call @copy ins(%a : memref<8xf32>) outs(%b : memref<8xf32>)
  kernel.call @relu ins(%b : memref<8xf32>) outs(%b : memref<8xf32>)
  kernel.call @relu ins(%b : memref<8xf32>) outs(%b : memref<8xf32>)
  kernel.call @relu ins(%a : memref<8xf32>) outs(%y0 : memref<8xf32>)

  // Before %d is copied there, %e is written and read: %d in its bytes, alive since before, would be overwritten.
  // CHECK: kernel.call @copy ins(%d : memref<8xf32>) outs(%e : memref<8xf32>)
  %d = memref.alloc() {name = "d"} : memref<8xf32>
  kernel.call @relu ins(%x : memref<8xf32>) outs(%d : memref<8xf32>)
  %e = memref.alloc() {name = "e"} : memref<8xf32>
  kernel.call @relu ins(%b : memref<8xf32>) outs(%e : memref<8xf32>)
  kernel.call @relu ins(%e : memref<8xf32>) outs(%y0 : memref<8xf32>)
  kernel.call @copy ins(%d : memref<8xf32>) outs(%e : memref<8xf32>)
  kernel.call @relu ins(%e : memref<8xf32>) outs(%y0 : memref<8xf32>)

  // An input stays where it is, and so does an output: this copy is the only way from one to the other.
  // CHECK: kernel.call @copy ins(%x : memref<8xf32>) outs(%y1 : memref<8xf32>)
  kernel.call @copy ins(%x : memref<8xf32>) outs(%y1 : memref<8xf32>)

  // %c is small and lives long: as a part of %w it would keep 16 KB alive through the next wide value.
  // CHECK: kernel.call @ends ins(%w : memref<4096xf32>) outs(%c : memref<8xf32>)
  %w = memref.alloc() {name = "w"} : memref<4096xf32>
  kernel.call @widen ins(%b : memref<8xf32>) outs(%w : memref<4096xf32>)
  %c = memref.alloc() {name = "c"} : memref<8xf32>
  kernel.call @ends ins(%w : memref<4096xf32>) outs(%c : memref<8xf32>)
  %v = memref.alloc() {name = "v"} : memref<4096xf32>
  kernel.call @widen ins(%c : memref<8xf32>) outs(%v : memref<4096xf32>)
  kernel.call @narrow ins(%v, %c : memref<4096xf32>, memref<8xf32>) outs(%y2 : memref<8xf32>)
  func.return
}
