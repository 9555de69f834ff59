// RUN: mini-opt %s -p poison-dead | filecheck %s

// Buffer 0 dies when the second call has read it, so its 64 bytes are overwritten before the third; buffer 1 after that.
// CHECK-LABEL: func.func @main
// CHECK:         kernel.call @k ins(%{{.*}}) outs(%[[A:.*]] :
// CHECK-NEXT:    kernel.call @k ins(%[[A]]
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    %[[AT:.*]] = arith.constant 256 : index
// CHECK-NEXT:    %[[DEAD:.*]] = memref.view %{{.*}}[%[[AT]]][] : memref<512xi8> to memref<64xi8>
// CHECK-NEXT:    kernel.call @poison_64 outs(%[[DEAD]] : memref<64xi8>)
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    kernel.call @k ins
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    %[[LOW:.*]] = arith.constant 0 : index
// CHECK-NEXT:    %[[LAST:.*]] = memref.view %{{.*}}[%[[LOW]]][] : memref<512xi8> to memref<64xi8>
// CHECK-NEXT:    kernel.call @poison_64 outs(%[[LAST]] : memref<64xi8>)
// CHECK-NEXT:    kernel.barrier
// CHECK-NEXT:    func.return
func.func @main(%x: memref<16xf32> {graph.name = "x", graph.role = "input"}, %y: memref<16xf32> {graph.name = "y", graph.role = "output"}, %arena: memref<512xi8> {graph.role = "arena"}) {
  %c256 = arith.constant 256 : index
  %c0 = arith.constant 0 : index
  %a = memref.view %arena[%c256][] {buffer = 0 : i64, birth = 0 : i64, death = 2 : i64} : memref<512xi8> to memref<16xf32>
  %b = memref.view %arena[%c0][] {buffer = 1 : i64, birth = 1 : i64, death = 3 : i64} : memref<512xi8> to memref<16xf32>
  kernel.call @k ins(%x : memref<16xf32>) outs(%a : memref<16xf32>)
  kernel.call @k ins(%a : memref<16xf32>) outs(%b : memref<16xf32>)
  kernel.call @k ins(%b : memref<16xf32>) outs(%y : memref<16xf32>)
  func.return
}

// CHECK: graph.kernel @poison_64() -> tensor<64xi8>
// CHECK: graph.constant dense<-1> : tensor<1xi8>
graph.kernel @k(%a: tensor<16xf32>) -> tensor<16xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
  %r = graph.relu %a : tensor<16xf32>
  graph.yield %r : tensor<16xf32>
}
