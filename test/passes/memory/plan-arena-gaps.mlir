// The bytes of a buffer that is overwritten as a whole count for nothing since it was last read.
// RUN: mini-opt %s -p plan-arena,verify-arena | filecheck %s
// RUN: mini-opt %s -p 'plan-arena{strategy=naive},verify-arena' | filecheck %s --check-prefix=NAIVE

// step              0 k   1 k   2 k   3 k   4 k   5 k
// %a 256 B [0, 6)   a     a                 a     a      free in [2, 4)
// %b 256 B [2, 4)               b     b                  in the bytes of %a
// CHECK: kernel.plan = {{.*}} arena_bytes = 256 : i64, lower_bound = 256 : i64
// CHECK: %[[A:.*]] = memref.view %arena[%[[ZERO:.*]]][] {buffer = 0 : i64, birth = 0 : i64, death = 6 : i64, gaps = {{\[\[}}2 : i64, 4 : i64]], name = "a"}
// CHECK: %[[B:.*]] = memref.view %arena[%[[ZERO]]][] {buffer = 1 : i64, birth = 2 : i64, death = 4 : i64, name = "b"}
// NAIVE: kernel.plan = {{.*}} arena_bytes = 512 : i64, lower_bound = 256 : i64, proven_bound = 256 : i64, optimal = false
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}) {
  %a = memref.alloc() {name = "a"} : memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  %b = memref.alloc() {name = "b"} : memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>)
  kernel.call @k ins(%b : memref<64xf32>) outs(%y : memref<64xf32>)
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  kernel.call @k ins(%a : memref<64xf32>) outs(%y : memref<64xf32>)
  func.return
}
