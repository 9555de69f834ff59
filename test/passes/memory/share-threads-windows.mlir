// A stage whose buffers are windows that a loop moves gets the number of the turn, and makes the window itself.
// RUN: mini-opt %s -p 'share-threads{grain=0}' | filecheck %s

// CHECK-LABEL: func.func @main
// CHECK:         scf.for %[[I:.*]] =
// CHECK-NEXT:      func.call @share_stage_0(%{{.*}}, %{{.*}}, %{{.*}}, %[[I]])
// CHECK:       func.func @stage_0(%[[X:[0-9a-z]+]]: memref<64x64xf32>, %{{.*}}: memref<1x64xf32>, %{{.*}}: memref<0xi8>, %[[TURN:[0-9a-z]+]]: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
// CHECK:         %[[AT:.*]] = arith.muli %[[TURN]], %{{.*}} : index
// CHECK-NEXT:    %[[ROW:.*]] = kernel.window %[[X]][%[[AT]]]
// CHECK-NEXT:    kernel.call @relu ins(%[[ROW]]
// CHECK:       func.func private @share_stage_0(memref<2xi64>, index, index, index)
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  graph.kernel @relu(%x: tensor<1x64xf32>) -> tensor<1x64xf32> {
    %r = graph.relu %x : tensor<1x64xf32>
    graph.yield %r : tensor<1x64xf32>
  }
  func.func @main(%x: memref<64x64xf32> {graph.role = "input"}, %y: memref<1x64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    scf.for %i = %c0 to %c64 step %c1 {
      %at = arith.muli %i, %c64 : index
      %row = kernel.window %x[%at] : memref<64x64xf32> to memref<1x64xf32>
      kernel.call @relu ins(%row : memref<1x64xf32>) outs(%y : memref<1x64xf32>)
      kernel.barrier
    }
    func.return
  }
}
