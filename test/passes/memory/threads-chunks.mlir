// RUN: mini-opt %s -p 'share-threads{chunk=1000}' | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  graph.kernel @exp(%x: tensor<1024x256xf32>) -> tensor<1024x256xf32> {
    %r = graph.exp %x : tensor<1024x256xf32>
    graph.yield %r : tensor<1024x256xf32>
  }
  graph.kernel @in_pieces(%x: tensor<1024x256xf32>) -> tensor<1024x256xf32> attributes {interface = #kernel.interface<pieces = 16>} {
    %r = graph.exp %x : tensor<1024x256xf32>
    graph.yield %r : tensor<1024x256xf32>
  }
  graph.kernel @scatter(%x: tensor<1024x256xf32>, %i: tensor<512x1xi64>, %u: tensor<512x256xf32>) -> tensor<1024x256xf32> attributes {interface = #kernel.interface<pieces = 1>} {
    %r = graph.scatter_nd %x, %i, %u {reduction = "none"} : (tensor<1024x256xf32>, tensor<512x1xi64>, tensor<512x256xf32>) -> tensor<1024x256xf32>
    graph.yield %r : tensor<1024x256xf32>
  }

  // There are no more than eight shares for a thread, however much work it is; two, where of 16 pieces each is to have
  // four; and one, where each does the same over again.
  // CHECK-LABEL: func.func @main
  // CHECK-DAG:     %[[TWO:.*]] = arith.constant 2 : index
  // CHECK-DAG:     %[[FOUR:.*]] = arith.constant 4 : index
  // CHECK-DAG:     %[[SIXTEEN:.*]] = arith.constant 16 : index
  // CHECK:         func.call @share_stage_0(%{{.*}}, %[[SIXTEEN]], %[[TWO]])
  // CHECK-NEXT:    kernel.barrier
  // CHECK-NEXT:    func.call @share_stage_1(%{{.*}}, %[[FOUR]], %[[TWO]])
  // CHECK-NEXT:    kernel.barrier
  // CHECK-NEXT:    func.call @share_stage_2(%{{.*}}, %[[TWO]], %[[TWO]])
  func.func @main(%x: memref<1024x256xf32> {graph.role = "input"}, %i: memref<512x1xi64> {graph.role = "input"}, %u: memref<512x256xf32> {graph.role = "input"}, %y: memref<1024x256xf32> {graph.role = "output"}, %arena: memref<1048576xi8> {graph.role = "arena"}) {
    %c0 = arith.constant 0 : index
    %a = memref.view %arena[%c0][] : memref<1048576xi8> to memref<1024x256xf32>
    kernel.call @exp ins(%x : memref<1024x256xf32>) outs(%a : memref<1024x256xf32>)
    kernel.barrier
    kernel.call @in_pieces ins(%a : memref<1024x256xf32>) outs(%a : memref<1024x256xf32>)
    kernel.barrier
    kernel.call @scatter ins(%a, %i, %u : memref<1024x256xf32>, memref<512x1xi64>, memref<512x256xf32>) outs(%y : memref<1024x256xf32>)
    func.return
  }
}
