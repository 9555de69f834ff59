// RUN: mini-opt %s -p plan-arena,verify-arena --split-input-file | filecheck %s

graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @count(%x: tensor<64xf32>) -> tensor<64xi1> {
  %r = graph.is_nan %x : (tensor<64xf32>) -> tensor<64xi1>
  graph.yield %r : tensor<64xi1>
}

// A scalar that is read from a buffer is a step of its own: the condition lives up to it. The branches exclude each
// other, so %then and %else share bytes with the condition; %outer lives through the loop that reads it.
// %outer [0,7) 256 B -> 0
// %p     [1,3)  64 B -> 256
// %then  [3,5) 256 B -> 256   %p is dead
// %else  [5,7) 256 B -> 256   where %then is not made
// CHECK-LABEL: func.func @main
// CHECK-SAME:    arena_bytes = 512
// CHECK-DAG:     {buffer = 0 : i64, birth = 0 : i64, death = 7 : i64, name = "outer"}
// CHECK-DAG:     {buffer = 1 : i64, birth = 1 : i64, death = 3 : i64, name = "p"}
// CHECK-DAG:     {buffer = 2 : i64, birth = 3 : i64, death = 5 : i64, name = "then"}
// CHECK-DAG:     {buffer = 3 : i64, birth = 5 : i64, death = 7 : i64, name = "else"}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %outer = memref.alloc() {name = "outer"} : memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%outer : memref<64xf32>)
  scf.for %i = %c0 to %c9 step %c1 {
    %p = memref.alloc() {name = "p"} : memref<64xi1>
    kernel.call @count ins(%outer : memref<64xf32>) outs(%p : memref<64xi1>)
    %q = memref.load %p[%i] : memref<64xi1>
    scf.if %q {
      %then = memref.alloc() {name = "then"} : memref<64xf32>
      kernel.call @k ins(%outer : memref<64xf32>) outs(%then : memref<64xf32>)
      kernel.call @k ins(%then : memref<64xf32>) outs(%y : memref<64xf32>)
    } else {
      %else = memref.alloc() {name = "else"} : memref<64xf32>
      kernel.call @k ins(%outer : memref<64xf32>) outs(%else : memref<64xf32>)
      kernel.call @k ins(%else : memref<64xf32>) outs(%y : memref<64xf32>)
    }
  }
  func.return
}

// -----

graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}

// Whether there is another turn is seen before it: %outer, which each turn reads, lives through all of them.
// %outer [0,4) 256 B -> 0
// %inner [1,3) 256 B -> 256
// CHECK-LABEL: func.func @main
// CHECK-SAME:    arena_bytes = 512
// CHECK-DAG:     {buffer = 0 : i64, birth = 0 : i64, death = 4 : i64, name = "outer"}
// CHECK-DAG:     {buffer = 1 : i64, birth = 1 : i64, death = 3 : i64, name = "inner"}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %go: memref<i1> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}) {
  %true = arith.constant true
  %outer = memref.alloc() {name = "outer"} : memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%outer : memref<64xf32>)
  %last = scf.while (%on = %true) : (i1) -> i1 {
    scf.condition(%on) %on : i1
  } do {
  ^bb0(%on: i1):
    %inner = memref.alloc() {name = "inner"} : memref<64xf32>
    kernel.call @k ins(%outer : memref<64xf32>) outs(%inner : memref<64xf32>)
    kernel.call @k ins(%inner : memref<64xf32>) outs(%y : memref<64xf32>)
    %next = memref.load %go[] : memref<i1>
    scf.yield %next : i1
  }
  func.return
}
