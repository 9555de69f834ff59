// RUN: mini-opt %s -p 'share-threads{grain=1000}' | filecheck %s
// RUN: mini-opt %s -p 'share-threads{grain=0}' | filecheck %s --check-prefix EACH
// RUN: mini-opt %s -p 'share-threads{grain=0 apart=true}' | filecheck %s --check-prefix APART
// RUN: mini-opt %s -p 'share-threads{grain=1000 chunk=500}' | filecheck %s --check-prefix CHUNKS
// RUN: mini-opt %s -p 'share-threads{grain=1000 watched=true}' | filecheck %s --check-prefix WATCHED

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 16>} {
  graph.kernel @matmul(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = graph.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %r : tensor<64x64xf32>
  }
  graph.kernel @relu(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = graph.relu %x : tensor<64x64xf32>
    graph.yield %r : tensor<64x64xf32>
  }

  // 2 * 64 * 64 * 64 operations at 64 a nanosecond are 8.2 microseconds, while 49152 bytes come from a cache, a relu 0.3: the stage
  // of both is for eight threads, a share of 1 each. That of a relu is for one, so main does it alone.
  // CHECK-LABEL: func.func @main
  // CHECK-SAME:    %[[TEAM:[0-9a-z]+]]: memref<2xi64> {graph.role = "team"}
  // CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
  // CHECK-DAG:     %[[A:.*]] = memref.view
  // CHECK:         func.call @share_stage_0(%[[TEAM]], %[[EIGHT]], %[[EIGHT]])
  // CHECK-NEXT:    kernel.barrier
  // CHECK-NEXT:    kernel.call @relu ins(%[[A]] : {{.*}}) outs(%y

  // Two shares of half a microsecond for each of the eight.
  // CHUNKS-LABEL: func.func @main
  // CHUNKS-DAG:    %[[SEATS:.*]] = arith.constant 8 : index
  // CHUNKS-DAG:    %[[SHARES:.*]] = arith.constant 16 : index
  // CHUNKS:        func.call @share_stage_0(%{{.*}}, %[[SHARES]], %[[SEATS]])

  // Without a grain every stage has a share for each thread.
  // EACH-LABEL:  func.func @main
  // EACH-DAG:      %[[ALL:.*]] = arith.constant 16 : index
  // EACH:          func.call @share_stage_0(%{{.*}}, %[[ALL]], %[[ALL]])
  // EACH-NEXT:     kernel.barrier
  // EACH-NEXT:     func.call @share_stage_1(%{{.*}}, %[[ALL]], %[[ALL]])
  // EACH-NEXT:     kernel.barrier
  // EACH-NEXT:     scf.for
  // EACH-NEXT:       func.call @share_stage_2(%{{.*}}, %[[ALL]], %[[ALL]])
  // EACH-NEXT:       kernel.barrier
  // EACH-NEXT:     }
  // EACH-NEXT:     func.return

  // Two calls without a barrier between them are a stage each.
  // APART-LABEL: func.func @main
  // APART:         func.call @share_stage_0
  // APART-NEXT:    func.call @share_stage_1
  // APART-NEXT:    kernel.barrier
  // APART-NEXT:    func.call @share_stage_2

  // A stage that one thread does alone is one all the same.
  // WATCHED-LABEL: func.func @main
  // WATCHED-DAG:     %[[ONE:.*]] = arith.constant 1 : index
  // WATCHED-DAG:     %[[MANY:.*]] = arith.constant 8 : index
  // WATCHED:         func.call @share_stage_0(%{{.*}}, %[[MANY]], %[[MANY]])
  // WATCHED-NEXT:    kernel.barrier
  // WATCHED-NEXT:    func.call @share_stage_1(%{{.*}}, %[[ONE]], %[[ONE]])
  // WATCHED-NOT:     kernel.call
  // WATCHED:         func.return
  func.func @main(%x: memref<64x64xf32> {graph.role = "input"}, %y: memref<64x64xf32> {graph.role = "output"}, %arena: memref<32768xi8> {graph.role = "arena"}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16384 = arith.constant 16384 : index
    %a = memref.view %arena[%c0][] : memref<32768xi8> to memref<64x64xf32>
    %b = memref.view %arena[%c16384][] : memref<32768xi8> to memref<64x64xf32>
    kernel.call @matmul ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%a : memref<64x64xf32>)
    kernel.call @relu ins(%x : memref<64x64xf32>) outs(%b : memref<64x64xf32>)
    kernel.barrier
    kernel.call @relu ins(%a : memref<64x64xf32>) outs(%y : memref<64x64xf32>)
    kernel.barrier
    scf.for %i = %c0 to %c16384 step %c1 {
      kernel.call @relu ins(%b : memref<64x64xf32>) outs(%b : memref<64x64xf32>)
      kernel.barrier
    }
    func.return
  }

  // A stage has the buffers of main, makes what views it needs itself, and hands share and seat to whoever lowers it.
  // CHECK:       func.func @stage_0(%[[X:[0-9a-z]+]]: memref<64x64xf32>, %{{.*}}: memref<64x64xf32>, %[[ARENA:[0-9a-z]+]]: memref<32768xi8>, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
  // CHECK:         %[[OUT:.*]] = memref.view %[[ARENA]]
  // CHECK-NEXT:    kernel.call @matmul ins(%[[X]], %[[X]] : {{.*}}) outs(%[[OUT]] :
  // CHECK:         kernel.call @relu ins(%[[X]] :
  // CHECK-NEXT:    func.return
  // CHECK:       func.func private @share_stage_0(memref<2xi64>, index, index)
}
