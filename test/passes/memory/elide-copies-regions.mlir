// RUN: mini-opt %s -p elide-copies | filecheck %s

graph.kernel @relu(%a: tensor<4xf32>) -> tensor<4xf32> attributes {
  interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0], strided_results = [0]>
} {
  %r = graph.relu %a : tensor<4xf32>
  graph.yield %r : tensor<4xf32>
}
graph.kernel @copy(%a: tensor<4xf32>) -> tensor<4xf32> attributes {
  interface = #kernel.interface<moves = [0 to 0 sizes [4] from 0 [1] at 0 [1]], strided_operands = [0], strided_results = [0]>
} {
  graph.yield %a : tensor<4xf32>
}

// The copy in front of the loop goes: nobody reads %a afterwards. That in the loop, to a buffer of the turn, goes too.
// The copy to %b stays, as each turn reads %a2 again, which %b is written over; and so does that to %out, which belongs
// to another block than %t.
// CHECK-LABEL: func.func @main
// CHECK-NOT:     kernel.call @copy
// CHECK:         scf.for
// CHECK-NOT:     kernel.call @copy ins(%t
// CHECK:         kernel.call @copy ins(%{{.*}} : memref<4xf32>) outs(%b
// CHECK:         kernel.call @copy ins(%{{.*}} : memref<4xf32>) outs(%out
// CHECK-NEXT:    }
// CHECK-NOT:     kernel.call @copy
func.func @main(%x: memref<4xf32> {graph.role = "input"}, %y: memref<4xf32> {graph.role = "output"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %a = memref.alloc() {name = "a"} : memref<4xf32>
  %carried = memref.alloc() {name = "carried"} : memref<4xf32>
  %a2 = memref.alloc() {name = "a2"} : memref<4xf32>
  %out = memref.alloc() {name = "out"} : memref<4xf32>
  kernel.call @relu ins(%x : memref<4xf32>) outs(%a : memref<4xf32>)
  kernel.call @relu ins(%x : memref<4xf32>) outs(%a2 : memref<4xf32>)
  kernel.call @copy ins(%a : memref<4xf32>) outs(%carried : memref<4xf32>)
  scf.for %i = %c0 to %c9 step %c1 {
    %t = memref.alloc() {name = "t"} : memref<4xf32>
    %u = memref.alloc() {name = "u"} : memref<4xf32>
    %b = memref.alloc() {name = "b"} : memref<4xf32>
    kernel.call @relu ins(%carried : memref<4xf32>) outs(%t : memref<4xf32>)
    kernel.call @copy ins(%t : memref<4xf32>) outs(%u : memref<4xf32>)
    kernel.call @relu ins(%u : memref<4xf32>) outs(%carried : memref<4xf32>)
    kernel.call @copy ins(%a2 : memref<4xf32>) outs(%b : memref<4xf32>)
    kernel.call @relu ins(%b : memref<4xf32>) outs(%b : memref<4xf32>)
    kernel.call @copy ins(%b : memref<4xf32>) outs(%out : memref<4xf32>)
  }
  kernel.call @relu ins(%carried : memref<4xf32>) outs(%y : memref<4xf32>)
  kernel.call @relu ins(%out : memref<4xf32>) outs(%y : memref<4xf32>)
  func.return
}
