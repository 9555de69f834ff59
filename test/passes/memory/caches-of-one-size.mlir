// A cache of one size before and after is updated in place where the kernel permits it, as what a loop carries is. A
// kernel that does not makes its result elsewhere, and it is copied.
//
// RUN: mini-opt %s -p "mark-inplace,bufferize" | filecheck %s

// CHECK:      func.func @main(%a: memref<8xf32> {{.*}}graph.role = "cache"},
// CHECK-SAME:                 %b: memref<8xf32> {{.*}}graph.role = "cache"}) {
// CHECK-NEXT:   kernel.call @relu_0 ins(%a : memref<8xf32>) outs(%a : memref<8xf32>)
// CHECK-NEXT:   [[MADE:%.*]] = memref.alloc() {{.*}} : memref<8xf32>
// CHECK-NEXT:   kernel.call @cumsum_0 ins(%b : memref<8xf32>) outs([[MADE]] : memref<8xf32>)
// CHECK-NEXT:   kernel.call @copy_0 ins([[MADE]] : memref<8xf32>) outs(%b : memref<8xf32>)
// CHECK-NEXT:   func.return

builtin.module attributes {mini_infer.level = "kernels"} {
  func.func @main(
      %a: tensor<8xf32> {graph.name = "a", graph.cache =
        #graph.cache<"a2", 0 : i64, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>>},
      %b: tensor<8xf32> {graph.name = "b", graph.cache =
        #graph.cache<"b2", 1 : i64, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>>})
      -> (tensor<8xf32> {graph.name = "a2"}, tensor<8xf32> {graph.name = "b2"}) {
    %a2 = graph.call @relu_0(%a) : (tensor<8xf32>) -> tensor<8xf32>
    %b2 = graph.call @cumsum_0(%b) : (tensor<8xf32>) -> tensor<8xf32>
    func.return %a2, %b2 : tensor<8xf32>, tensor<8xf32>
  }
  graph.kernel @relu_0(%x: tensor<8xf32>) -> tensor<8xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
    %r = graph.relu %x : tensor<8xf32>
    graph.yield %r : tensor<8xf32>
  }
  graph.kernel @cumsum_0(%x: tensor<8xf32>) -> tensor<8xf32> {
    %r = graph.cumsum %x {axis = 0 : i64} : (tensor<8xf32>) -> tensor<8xf32>
    graph.yield %r : tensor<8xf32>
  }
}
