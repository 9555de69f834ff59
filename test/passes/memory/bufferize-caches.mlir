// A cache is one argument, of which past and present are parts: what is joined to the past is written behind it, and
// the past stays where it is. What a kernel without strides reads of it is copied to dense memory.
//
// RUN: mini-opt %s -p "bufferize" | filecheck %s
// RUN: mini-opt %s -p "bufferize,elide-copies" | filecheck %s --check-prefix=ELIDED
// RUN: mini-opt %s -p "bufferize,elide-copies,plan-arena,verify-arena" | filecheck %s --check-prefix=ARENA

// CHECK:      func.func @main(%past: memref<2x8x4xf32> {graph.name = "past", {{.*}}graph.role = "cache"},
// CHECK-SAME:                 %new: memref<2x1x4xf32> {{.*}}, %y: memref<2x4x4xf32> {{.*}}graph.role = "output"})
// CHECK:        [[OLD:%.*]] = memref.reinterpret_cast %past to offset: [0], sizes: [2, 3, 4], strides: [32, 4, 1]
// CHECK:        %present = memref.reinterpret_cast %past to offset: [0], sizes: [2, 4, 4], strides: [32, 4, 1]
// CHECK:        [[FRESH:%.*]] = memref.alloc() {{.*}} : memref<2x1x4xf32>
// CHECK:        kernel.call @relu_0 ins(%new : memref<2x1x4xf32>) outs([[FRESH]] : memref<2x1x4xf32>)
// CHECK:        [[BEHIND:%.*]] = memref.reinterpret_cast %past to offset: [12], sizes: [2, 1, 4], strides: [32, 4, 1]
// CHECK:        kernel.call @copy_0 ins([[FRESH]] : memref<2x1x4xf32>) outs([[BEHIND]] :
// CHECK:        [[DENSE:%.*]] = memref.alloc() {{.*}} : memref<2x4x4xf32>
// CHECK:        kernel.call @copy_1 ins(%present : {{.*}}) outs([[DENSE]] : memref<2x4x4xf32>)
// CHECK:        kernel.call @cumsum_0 ins([[DENSE]] : memref<2x4x4xf32>) outs(%y : memref<2x4x4xf32>)

// ELIDED:      [[BEHIND:%.*]] = memref.reinterpret_cast %past to offset: [12], sizes: [2, 1, 4], strides: [32, 4, 1]
// ELIDED-NEXT: kernel.call @relu_0 ins(%new : memref<2x1x4xf32>) outs([[BEHIND]] :

// ARENA: kernel.call @relu_0 ins(%new

builtin.module attributes {mini_infer.level = "kernels"} {
  func.func @main(
      %past: tensor<2x3x4xf32> {graph.name = "past", graph.cache = #graph.cache<"present", 1 : i64,
          tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x8x4xf32>>},
      %new: tensor<2x1x4xf32> {graph.name = "new"})
      -> (tensor<2x4x4xf32> {graph.name = "y"}, tensor<2x4x4xf32> {graph.name = "present"}) {
    %fresh = graph.call @relu_0(%new) : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
    %joined = graph.call @concat_0(%past, %fresh) : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    %y = graph.call @cumsum_0(%joined) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    func.return %y, %joined : tensor<2x4x4xf32>, tensor<2x4x4xf32>
  }
  graph.kernel @relu_0(%x: tensor<2x1x4xf32>) -> tensor<2x1x4xf32> attributes {
      interface = #kernel.interface<strided_operands = [0], strided_results = [0]>} {
    %r = graph.relu %x : (tensor<2x1x4xf32>) -> tensor<2x1x4xf32>
    graph.yield %r : tensor<2x1x4xf32>
  }
  graph.kernel @concat_0(%a: tensor<2x3x4xf32>, %b: tensor<2x1x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<moves = [0 to 0 sizes [2, 3, 4] from 0 [12, 4, 1] at 0 [16, 4, 1],
        1 to 0 sizes [2, 1, 4] from 0 [4, 4, 1] at 12 [16, 4, 1]], strided_operands = [0, 1], strided_results = [0]>} {
    %r = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
  graph.kernel @cumsum_0(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
    %r = graph.cumsum %x {axis = 1 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
}
