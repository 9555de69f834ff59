// RUN: mini-opt %s -p share-threads{grain=0} | filecheck %s

// No barrier is between the two products, but weights are given back and mapped there: they are stages of their own.
// CHECK-LABEL: @main(
// CHECK:         func.call @share_stage_0
// CHECK-NEXT:    func.call @mini_infer_map_weights
// CHECK-NEXT:    func.call @share_stage_1
// CHECK-NEXT:    func.return
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  graph.kernel @matmul(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
    %r = graph.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    graph.yield %r : tensor<64x64xf32>
  }
  func.func @main(%x: memref<64x64xf32> {graph.role = "input"}, %y: memref<64x64xf32> {graph.role = "output"}, %z: memref<64x64xf32> {graph.role = "output"}, %arena: memref<0xi8> {graph.role = "arena"}, %weights: memref<64xi8> {graph.role = "weights"}) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    kernel.call @matmul ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%y : memref<64x64xf32>)
    func.call @mini_infer_map_weights(%weights, %c0, %c64) : (memref<64xi8>, index, index) -> ()
    kernel.call @matmul ins(%x, %x : memref<64x64xf32>, memref<64x64xf32>) outs(%z : memref<64x64xf32>)
    func.return
  }
  func.func private @mini_infer_map_weights(memref<64xi8>, index, index) -> ()
}
