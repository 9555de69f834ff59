// What is joined to the past may then be changed in place, once nobody reads the past: nothing of it is copied. A kernel
// that comes before a reader of the past, or that accepts no strides, works elsewhere.
//
// RUN: mini-opt %s -p "bufferize" --split-input-file | filecheck %s
// RUN: mini-opt %s -p "bufferize,elide-copies,plan-arena,verify-arena" --split-input-file | filecheck %s --check-prefix=ARENA

// CHECK-LABEL: func.func @main(%past
// CHECK:        %present = memref.reinterpret_cast %past to offset: [0], sizes: [2, 4, 4], strides: [32, 4, 1]
// CHECK:        [[BEHIND:%.*]] = memref.reinterpret_cast %past to offset: [12], sizes: [2, 1, 4], strides: [32, 4, 1]
// CHECK-NEXT:   kernel.call @copy_0 ins(%new : memref<2x1x4xf32>) outs([[BEHIND]] :
// CHECK-NEXT:   kernel.call @relu_0 ins(%present : {{.*}}) outs(%present :
// CHECK-NEXT:   func.return

// ARENA: arena_bytes = 0

builtin.module attributes {mini_infer.level = "kernels"} {
  func.func @main(
      %past: tensor<2x3x4xf32> {graph.name = "past", graph.cache = #graph.cache<"present", 0 : i64,
          tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x8x4xf32>>},
      %new: tensor<2x1x4xf32> {graph.name = "new"}) -> (tensor<2x4x4xf32> {graph.name = "present"}) {
    %joined = graph.call @concat_0(%past, %new) : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    %y = graph.call @relu_0(%joined) {inplace = [[0, 0]]} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    func.return %y : tensor<2x4x4xf32>
  }
  graph.kernel @concat_0(%a: tensor<2x3x4xf32>, %b: tensor<2x1x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<moves = [0 to 0 sizes [2, 3, 4] from 0 [12, 4, 1] at 0 [16, 4, 1],
        1 to 0 sizes [2, 1, 4] from 0 [4, 4, 1] at 12 [16, 4, 1]], strided_operands = [0, 1], strided_results = [0]>} {
    %r = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
  graph.kernel @relu_0(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0], strided_results = [0]>} {
    %r = graph.relu %x : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
}

// -----

// CHECK-LABEL: func.func @main(%past
// CHECK:        [[OTHER:%.*]] = memref.alloc() {{.*}} : memref<2x4x4xf32>
// CHECK:        kernel.call @concat_0 ins({{.*}}) outs([[OTHER]] :
// CHECK-NEXT:   kernel.call @relu_0 ins([[OTHER]] : {{.*}}) outs([[OTHER]] :
// CHECK:        kernel.call @negated_0
// CHECK:        kernel.call @copy_0 ins([[OTHER]] : memref<2x4x4xf32>) outs(%present :

// ARENA: arena_bytes = 256

builtin.module attributes {mini_infer.level = "kernels"} {
  func.func @main(
      %past: tensor<2x3x4xf32> {graph.name = "past", graph.cache = #graph.cache<"present", 0 : i64,
          tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x8x4xf32>>},
      %new: tensor<2x1x4xf32> {graph.name = "new"})
      -> (tensor<2x4x4xf32> {graph.name = "present"}, tensor<2x3x4xf32> {graph.name = "n"}) {
    %joined = graph.call @concat_0(%past, %new) : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    %y = graph.call @relu_0(%joined) {inplace = [[0, 0]]} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    %n = graph.call @negated_0(%past) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    func.return %y, %n : tensor<2x4x4xf32>, tensor<2x3x4xf32>
  }
  graph.kernel @concat_0(%a: tensor<2x3x4xf32>, %b: tensor<2x1x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<moves = [0 to 0 sizes [2, 3, 4] from 0 [12, 4, 1] at 0 [16, 4, 1],
        1 to 0 sizes [2, 1, 4] from 0 [4, 4, 1] at 12 [16, 4, 1]], strided_operands = [0, 1], strided_results = [0]>} {
    %r = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
  graph.kernel @relu_0(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0], strided_results = [0]>} {
    %r = graph.relu %x : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
  graph.kernel @negated_0(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> attributes {
      interface = #kernel.interface<strided_operands = [0], strided_results = [0]>} {
    %r = graph.neg %x : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    graph.yield %r : tensor<2x3x4xf32>
  }
}

// -----

// CHECK-LABEL: func.func @main(%past
// CHECK:        kernel.call @concat_0 ins({{.*}}) outs([[OTHER:%.*]] : memref<2x4x4xf32>)
// CHECK:        kernel.call @copy_0 ins([[OTHER]] : memref<2x4x4xf32>) outs(%present :

// ARENA: arena_bytes = 256

builtin.module attributes {mini_infer.level = "kernels"} {
  func.func @main(
      %past: tensor<2x3x4xf32> {graph.name = "past", graph.cache = #graph.cache<"present", 0 : i64,
          tensor<2x3x4xf32>, tensor<2x4x4xf32>, tensor<2x8x4xf32>>},
      %new: tensor<2x1x4xf32> {graph.name = "new"}) -> (tensor<2x4x4xf32> {graph.name = "present"}) {
    %joined = graph.call @concat_0(%past, %new) : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    %y = graph.call @relu_0(%joined) {inplace = [[0, 0]]} : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    func.return %y : tensor<2x4x4xf32>
  }
  graph.kernel @concat_0(%a: tensor<2x3x4xf32>, %b: tensor<2x1x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<moves = [0 to 0 sizes [2, 3, 4] from 0 [12, 4, 1] at 0 [16, 4, 1],
        1 to 0 sizes [2, 1, 4] from 0 [4, 4, 1] at 12 [16, 4, 1]], strided_operands = [0, 1], strided_results = [0]>} {
    %r = graph.concat %a, %b {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
  graph.kernel @relu_0(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> attributes {
      interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
    graph.yield %r : tensor<2x4x4xf32>
  }
}
