// Gaps, loops and branches: each buffer has a size of its own, by which its fills are known.
// RUN: mini-opt %s -p poison-dead --split-input-file | filecheck %s

// %a (64 bytes) has a gap in [1, 2): it is overwritten there and at its end. %b (128 bytes) lives through the loop, and
// dies behind it. %c (192 bytes) lives in each round. %d (256 bytes) is read in one branch: the other, which was not
// written down, overwrites it too.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @a ins(%x
// CHECK:       kernel.call @poison_64
// CHECK:       kernel.call @b ins
// CHECK-NOT:   kernel.call @poison
// CHECK:       scf.for
// CHECK-NOT:   kernel.call @poison
// CHECK:         kernel.call @c ins
// CHECK:         kernel.call @poison_192
// CHECK-NOT:   kernel.call @poison
// CHECK:       }
// CHECK:       kernel.call @poison_128
// CHECK-NOT:   kernel.call @poison
// CHECK:       scf.if
// CHECK:         kernel.call @d ins(%d
// CHECK:         kernel.call @poison_256
// CHECK:       } else {
// CHECK-NEXT:    kernel.barrier
// CHECK:         kernel.call @poison_256
// CHECK:       }
// CHECK:       kernel.call @a ins(%a
// CHECK:       kernel.call @poison_64
// CHECK-NOT:   kernel.call @poison
// CHECK:       func.return
graph.kernel @a(%x: tensor<16xf32>) -> tensor<16xf32> {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}
graph.kernel @b(%x: tensor<32xf32>) -> tensor<32xf32> {
  %r = graph.relu %x : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
graph.kernel @c(%x: tensor<48xf32>) -> tensor<48xf32> {
  %r = graph.relu %x : tensor<48xf32>
  graph.yield %r : tensor<48xf32>
}
graph.kernel @d(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<16xf32>, %u: memref<32xf32>, %v: memref<64xf32>, %y: memref<16xf32>, %z: memref<64xf32>, %arena: memref<1024xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  %c384 = arith.constant 384 : index
  %if = arith.constant true
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 9, gaps = [[1, 7]], name = "a"} : memref<1024xi8> to memref<16xf32>
  %b = memref.view %arena[%c64][] {buffer = 1, birth = 1, death = 4, name = "b"} : memref<1024xi8> to memref<32xf32>
  %c = memref.view %arena[%c192][] {buffer = 2, birth = 2, death = 3, name = "c"} : memref<1024xi8> to memref<48xf32>
  %d = memref.view %arena[%c384][] {buffer = 3, birth = 4, death = 6, name = "d"} : memref<1024xi8> to memref<64xf32>
  kernel.call @a ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  kernel.call @b ins(%u : memref<32xf32>) outs(%b : memref<32xf32>)
  scf.for %i = %c0 to %c4 step %c1 {
    kernel.call @c ins(%c : memref<48xf32>) outs(%c : memref<48xf32>)
    kernel.call @b ins(%b : memref<32xf32>) outs(%b : memref<32xf32>)
  }
  kernel.call @d ins(%v : memref<64xf32>) outs(%d : memref<64xf32>)
  scf.if %if {
    kernel.call @d ins(%d : memref<64xf32>) outs(%z : memref<64xf32>)
  }
  kernel.call @b ins(%u : memref<32xf32>) outs(%u : memref<32xf32>)
  kernel.call @a ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  kernel.call @a ins(%a : memref<16xf32>) outs(%y : memref<16xf32>)
  func.return
}

// -----

// In a loop that may end early, too, what lives in a turn dies in it (%b, 128 bytes), and what is read by each turn behind
// all of them (%a, 64 bytes); where it is decided whether there is another, nothing is overwritten.
// CHECK-LABEL: func.func @main
// CHECK:       kernel.call @a ins(%x
// CHECK-NOT:   kernel.call @poison
// CHECK:       scf.while
// CHECK-NEXT:    scf.condition
// CHECK-NEXT:  } do {
// CHECK:         kernel.call @b ins
// CHECK:         kernel.call @poison_128
// CHECK-NOT:   kernel.call @poison
// CHECK:         scf.yield
// CHECK:       kernel.call @poison_64
graph.kernel @a(%x: tensor<16xf32>) -> tensor<16xf32> {
  %r = graph.relu %x : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}
graph.kernel @b(%x: tensor<16xf32>, %y: tensor<32xf32>) -> tensor<32xf32> {
  %r = graph.relu %y : tensor<32xf32>
  graph.yield %r : tensor<32xf32>
}
func.func @main(%x: memref<16xf32>, %y: memref<32xf32>, %arena: memref<1024xi8> {graph.role = "arena"}) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %true = arith.constant true
  %a = memref.view %arena[%c0][] {buffer = 0, birth = 0, death = 4, name = "a"} : memref<1024xi8> to memref<16xf32>
  %b = memref.view %arena[%c64][] {buffer = 1, birth = 1, death = 3, name = "b"} : memref<1024xi8> to memref<32xf32>
  kernel.call @a ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  %last = scf.while (%on = %true) : (i1) -> i1 {
    scf.condition(%on) %on : i1
  } do {
  ^bb0(%on: i1):
    kernel.call @b ins(%a, %y : memref<16xf32>, memref<32xf32>) outs(%b : memref<32xf32>)
    kernel.call @b ins(%a, %b : memref<16xf32>, memref<32xf32>) outs(%y : memref<32xf32>)
    kernel.call @b ins(%a, %y : memref<16xf32>, memref<32xf32>) outs(%y : memref<32xf32>)
    scf.yield %on : i1
  }
  func.return
}
