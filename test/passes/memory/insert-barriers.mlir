// RUN: mini-opt %s -p insert-barriers | filecheck %s

graph.kernel @k(%x: tensor<16xf32>) -> tensor<16xf32> {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}
graph.kernel @columns(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = graph.relu %x : tensor<2x4xf32>
  graph.yield %r : tensor<2x4xf32>
}

// CHECK-LABEL: func.func @main
func.func @main(%x: memref<16xf32> {graph.role = "input"}, %z: memref<2x4xf32> {graph.role = "input"}, %y: memref<16xf32> {graph.role = "output"}, %arena: memref<1024xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %c288 = arith.constant 288 : index
  %c512 = arith.constant 512 : index
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 3} : memref<1024xi8> to memref<16xf32>
  %b = memref.view %arena[%c256][] {buffer = 1, birth = 1, death = 5} : memref<1024xi8> to memref<16xf32>
  %c = memref.view %arena[%c512][] {buffer = 2, birth = 2, death = 4} : memref<1024xi8> to memref<16xf32>
  %s = memref.view %arena[%c288][] {kernel.scratch, buffer = 3, birth = 5, death = 6} : memref<1024xi8> to memref<64xi8>
  // CHECK:      kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  // Both read the input and write different bytes.
  // CHECK-NEXT: kernel.call @k ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  kernel.call @k ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  // %a is read after it was written.
  // CHECK-NEXT: kernel.barrier
  // CHECK-NEXT: kernel.call @k ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
  kernel.call @k ins(%a : memref<16xf32>) outs(%c : memref<16xf32>)
  // %b was written before the barrier; nothing since touches it, nor the output.
  // CHECK-NEXT: kernel.call @k ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  kernel.call @k ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  // %b is written after it was read, in place of another buffer's bytes.
  // CHECK-NEXT: kernel.barrier
  // CHECK-NEXT: kernel.call @k ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  kernel.call @k ins(%x : memref<16xf32>) outs(%b : memref<16xf32>)
  // Scratch at byte 288 lies in the second half of %b: written after written.
  // CHECK-NEXT: kernel.barrier
  // CHECK-NEXT: kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>) scratch
  kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>) scratch(%s : memref<64xi8>)
  // Columns 0-3 and 4-7 of one buffer lie between each other and share no byte.
  // CHECK:      kernel.call @columns ins(%z : memref<2x4xf32>) outs(%left
  // CHECK-NEXT: kernel.call @columns ins(%z : memref<2x4xf32>) outs(%right
  // CHECK-NEXT: func.return
  %left = memref.reinterpret_cast %c to offset: [0], sizes: [2, 4], strides: [8, 1] : memref<16xf32> to memref<2x4xf32, strided<[8, 1]>>
  %right = memref.reinterpret_cast %c to offset: [4], sizes: [2, 4], strides: [8, 1] : memref<16xf32> to memref<2x4xf32, strided<[8, 1], offset: 4>>
  kernel.call @columns ins(%z : memref<2x4xf32>) outs(%left : memref<2x4xf32, strided<[8, 1]>>)
  kernel.call @columns ins(%z : memref<2x4xf32>) outs(%right : memref<2x4xf32, strided<[8, 1], offset: 4>>)
  func.return
}
