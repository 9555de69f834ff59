// RUN: mini-opt %s -p plan-arena | filecheck %s

// Where a buffer lies is another number at each shape: a symbol, of which equal names are told apart. What is to be
// placed, the module states in sizes; %sizes is the table of all symbols. The numbers are those of 16 tokens.
// step                        0 k   1 k   2 part  3 sum
// %a  512 B  [0, 1) [2, 4)    a           a       a
// %s 1024 B  [1, 2)                 s                    scratch
// %b  512 B  [1, 4)                 b     b       b
// bytes live                  512   1536  1024    1024   %s goes where %a is not needed
// CHECK:      #kernel.symbols<dim tokens = 16 in [1, 64], offset "buffer a" = 0 in [0, 281474976710656] live [0, 1] [2, 4], offset "buffer b" = 0 in [0, 281474976710656] live [1, 2], offset "buffer b 2" = 1024 in [0, 281474976710656] live [1, 4]>
// CHECK-SAME: kernel.buffers = #kernel.buffers<256, "a" (tokens * 32) [0, 1] [2, 4], "b" scratch (tokens * 64) [1, 2], "b" (tokens * 32) [1, 4]>
// CHECK:      func.func @main(
// CHECK-SAME:   %arena: memref<1536xi8> {graph.role = "arena"}, %sizes: memref<4xi64> {graph.role = "sizes"})
// CHECK-DAG:    %[[AT_A:.*]] = arith.constant ("buffer a") : index
// CHECK-DAG:    %[[AT_S:.*]] = arith.constant ("buffer b") : index
// CHECK-DAG:    %[[AT_B:.*]] = arith.constant ("buffer b 2") : index
// CHECK-DAG:    %[[AT_HALF:.*]] = arith.constant ("buffer b 2" + tokens * 16) : index
// CHECK:        memref.view %arena[%[[AT_A]]][] {{.*}}gaps = {{\[\[}}1 : i64, 2 : i64]]{{.*}} : memref<1536xi8> to memref<(tokens)x8xf32>
// CHECK:        memref.view %arena[%[[AT_S]]][] {{.*}} : memref<1536xi8> to memref<(tokens * 64)xi8>
// CHECK:        memref.view %arena[%[[AT_B]]][] {{.*}} : memref<1536xi8> to memref<(tokens)x8xf32>
// The second half of %b is a buffer of its own, behind the first one's bytes.
// CHECK:        %[[HALF:.*]] = memref.view %arena[%[[AT_HALF]]][] {{.*}} : memref<1536xi8> to memref<(tokens)x4xf32>
// CHECK-NEXT:   kernel.call @part ins(%[[HALF]] : memref<(tokens)x4xf32>)
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64]>} {
  graph.kernel @k(%x: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> {
    %r = graph.relu %x : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  graph.kernel @sum(%x: tensor<(tokens)x8xf32>, %y: tensor<(tokens)x8xf32>) -> tensor<(tokens)x8xf32> {
    %r = graph.add %x, %y : tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
  func.func @main(%x: memref<(tokens)x8xf32> {graph.role = "input"}, %y: memref<(tokens)x8xf32> {graph.role = "output"}) {
    %a = memref.alloc() {name = "a"} : memref<(tokens)x8xf32>
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%a : memref<(tokens)x8xf32>)
    %s = memref.alloc() {kernel.scratch, name = "b"} : memref<(tokens * 64)xi8>
    %b = memref.alloc() {name = "b"} : memref<(tokens)x8xf32>
    kernel.call @k ins(%x : memref<(tokens)x8xf32>) outs(%b : memref<(tokens)x8xf32>) scratch(%s : memref<(tokens * 64)xi8>)
    %half = memref.reinterpret_cast %b to offset: [(tokens * 4)], sizes: [(tokens), 4], strides: [4, 1] : memref<(tokens)x8xf32> to memref<(tokens)x4xf32, strided<[4, 1], offset: (tokens * 4)>>
    kernel.call @part ins(%half : memref<(tokens)x4xf32, strided<[4, 1], offset: (tokens * 4)>>) outs(%a : memref<(tokens)x8xf32>)
    kernel.call @sum ins(%a, %b : memref<(tokens)x8xf32>, memref<(tokens)x8xf32>) outs(%y : memref<(tokens)x8xf32>)
    func.return
  }
  graph.kernel @part(%x: tensor<(tokens)x4xf32>) -> tensor<(tokens)x8xf32> {
    %r = graph.concat %x, %x {axis = 1 : i64} : (tensor<(tokens)x4xf32>, tensor<(tokens)x4xf32>) -> tensor<(tokens)x8xf32>
    graph.yield %r : tensor<(tokens)x8xf32>
  }
}
