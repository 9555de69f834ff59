// Windows that loops move: what they lie in can become another buffer, not a strided part of one.
// RUN: mini-opt %s -p elide-copies | filecheck %s

// %all becomes the second half of the output, and its windows with it.
// CHECK-LABEL: func.func @main
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[HALF:.*]] = memref.reinterpret_cast %y to offset: [16], sizes: [8, 2], strides: [2, 1]
// CHECK-NEXT:      %[[OUT:.*]] = kernel.window %[[HALF]][%{{.*}}] {{.*}} : memref<8x2xf32, {{.*}}> to memref<1x2xf32>
// CHECK-NEXT:      kernel.call @join {{.*}}outs(%[[OUT]]
// CHECK:         kernel.call @copy{{.*}} ins(%x8
// CHECK-NOT:     kernel.call
// CHECK:         func.return
func.func @main(%x: memref<1x2xf32> {graph.role = "input"}, %x8: memref<8x2xf32> {graph.role = "input"}, %y: memref<16x2xf32> {graph.role = "output"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %all = memref.alloc() {name = "all"} : memref<8x2xf32>
  scf.for %i = %c0 to %c8 step %c1 {
    %at = arith.muli %i, %c2 : index
    %out = kernel.window %all[%at] {name = "all"} : memref<8x2xf32> to memref<1x2xf32>
    kernel.call @join ins(%x, %x : memref<1x2xf32>, memref<1x2xf32>) outs(%out : memref<1x2xf32>)
  }
  kernel.call @both ins(%x8, %all : memref<8x2xf32>, memref<8x2xf32>) outs(%y : memref<16x2xf32>)
  func.return
}

graph.kernel @join(%x: tensor<1x2xf32>, %z: tensor<1x2xf32>) -> tensor<1x2xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.add %x, %z : tensor<1x2xf32>
  graph.yield %r : tensor<1x2xf32>
}
graph.kernel @both(%x: tensor<8x2xf32>, %z: tensor<8x2xf32>) -> tensor<16x2xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [8, 2] from 0 [2, 1] at 0 [2, 1], 1 to 0 sizes [8, 2] from 0 [2, 1] at 16 [2, 1]], strided_operands = [0, 1], strided_results = [0]>} {
  %r = graph.concat %x, %z {axis = 0 : i64} : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<16x2xf32>
  graph.yield %r : tensor<16x2xf32>
}
