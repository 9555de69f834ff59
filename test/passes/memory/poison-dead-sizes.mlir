// RUN: mini-opt %s -p poison-dead | mini-opt | filecheck %s

// %a dies when the second call has read it: all of its bytes, as many as there are, from where it lies, are overwritten.
// CHECK-LABEL: func.func @main
// CHECK:         kernel.call @k ins(%a
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    %[[AT:.*]] = arith.constant ("buffer a" + 64) : index
// CHECK-NEXT:    %[[DEAD:.*]] = memref.view %arena[%[[AT]]][] : memref<1024xi8> to memref<(tokens * 32)xi8>
// CHECK-NEXT:    kernel.call @"poison_tokens * 32" outs(%[[DEAD]] : memref<(tokens * 32)xi8>)
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    func.return
// CHECK:       graph.kernel @"poison_tokens * 32"() -> tensor<(tokens * 32)xi8>
// CHECK:         graph.broadcast_to {{.*}} {shape = array<i64: (tokens * 32)>}
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0 in [0, 65536] live [0, 2]>} {
  graph.kernel @k(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  func.func @main(%x: memref<(tokens)x8xf32> {graph.role = "input"}, %y: memref<(tokens)x8xf32> {graph.role = "output"}, %arena: memref<1024xi8> {graph.role = "arena"}, %sizes: memref<2xi64> {graph.role = "sizes"}) {
    %at = arith.constant ("buffer a" + 64) : index
    %a = memref.view %arena[%at][] {buffer = 0, birth = 0, death = 2} : memref<1024xi8> to memref<(tokens)x8xf32>
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%a : memref<(tokens)x8xf32>)
    kernel.call @k ins(%a : memref<(tokens)x8xf32>) outs(%y : memref<(tokens)x8xf32>)
    func.return
  }
}
