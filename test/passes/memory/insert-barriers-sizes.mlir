// RUN: mini-opt %s -p insert-barriers | filecheck %s

// What is apart now may meet at other shapes: only buffers that live at one step are apart at all of them.
// CHECK-LABEL: func.func @main
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0 in [0, 65536] live [0, 1], offset "buffer b" = 512 in [0, 65536] live [1, 3], offset "buffer c" = 1024 in [0, 65536] live [1, 4]>} {
  graph.kernel @k(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  graph.kernel @half(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x4xf32> {
    %r = graph.slice %x {starts = array<i64: 0, 0>, stops = array<i64: (tokens), 4>, steps = array<i64: 1, 1>} : (tensor<(tokens)x8xf32>) -> tensor<(tokens)x4xf32>
    graph.yield %r : tensor<(tokens)x4xf32>
  }
  func.func @main(%x: memref<(tokens)x8xf32> {graph.role = "input"}, %arena: memref<1536xi8> {graph.role = "arena"}, %sizes: memref<4xi64> {graph.role = "sizes"}) {
    %at_a = arith.constant ("buffer a") : index
    %at_b = arith.constant ("buffer b") : index
    %at_c = arith.constant ("buffer c") : index
    %at_half = arith.constant ("buffer c" + tokens * 16) : index
    %a = memref.view %arena[%at_a][] {buffer = 0, birth = 0, death = 1} : memref<1536xi8> to memref<(tokens)x8xf32>
    %b = memref.view %arena[%at_b][] {buffer = 1, birth = 1, death = 3} : memref<1536xi8> to memref<(tokens)x8xf32>
    %low = memref.view %arena[%at_c][] {buffer = 2, birth = 1, death = 4} : memref<1536xi8> to memref<(tokens)x4xf32>
    %high = memref.view %arena[%at_half][] {buffer = 2, birth = 1, death = 4} : memref<1536xi8> to memref<(tokens)x4xf32>
    // %a is dead when %b is born, and may have had its bytes.
    // CHECK:      kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%a
    // CHECK-NEXT: kernel.barrier
    // CHECK-NEXT: kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%b
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%a : memref<(tokens)x8xf32>)
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%b : memref<(tokens)x8xf32>)
    // %b and %c live together; the halves of %c share no byte, however many tokens there are.
    // CHECK-NEXT: kernel.call @half ins(%x : memref<(tokens)x8xf32>) outs(%low
    // CHECK-NEXT: kernel.call @half ins(%x : memref<(tokens)x8xf32>) outs(%high
    // CHECK-NEXT: func.return
    kernel.call @half ins(%x : memref<(tokens)x8xf32>) outs(%low : memref<(tokens)x4xf32>)
    kernel.call @half ins(%x : memref<(tokens)x8xf32>) outs(%high : memref<(tokens)x4xf32>)
    func.return
  }
}
