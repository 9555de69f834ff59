// A part of a concatenation that has to be copied is copied once nobody else reads it: here before %b is made, so that
// %a, %b and %c are never live together.
// RUN: mini-opt %s -p elide-copies | filecheck %s
// RUN: mini-opt %s -p elide-copies,plan-arena,verify-arena | filecheck %s --check-prefix=ARENA

graph.kernel @wide(%x: tensor<2x1xf32>) -> tensor<2x64xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.pad %x {low = array<i64: 0, 0>, high = array<i64: 0, 63>, mode = "constant", value = 0.0 : f64} : (tensor<2x1xf32>) -> tensor<2x64xf32>
  graph.yield %r : tensor<2x64xf32>
}
graph.kernel @narrow(%x: tensor<2x64xf32>) -> tensor<2x1xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<2x64xf32>) -> tensor<2x1xf32>
  graph.yield %r : tensor<2x1xf32>
}
graph.kernel @concat(%x: tensor<2x64xf32>, %y: tensor<2x64xf32>) -> tensor<2x128xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [2, 64] from 0 [64, 1] at 0 [128, 1], 1 to 0 sizes [2, 64] from 0 [64, 1] at 64 [128, 1]], strided_operands = [0, 1], strided_results = [0]>} {
  %r = graph.concat %x, %y {axis = 1 : i64} : (tensor<2x64xf32>, tensor<2x64xf32>) -> tensor<2x128xf32>
  graph.yield %r : tensor<2x128xf32>
}
graph.kernel @sum(%x: tensor<2x128xf32>) -> tensor<2x1xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.reduce_sum %x {axes = array<i64: 1>, keepdims} : (tensor<2x128xf32>) -> tensor<2x1xf32>
  graph.yield %r : tensor<2x1xf32>
}

// CHECK-LABEL: func.func @main
// CHECK:      %a = memref.alloc()
// CHECK:      kernel.call @wide ins(%x
// CHECK:      kernel.call @narrow ins(%a
// CHECK:      %c = memref.alloc()
// CHECK-NEXT: %[[LEFT:.*]] = memref.reinterpret_cast %c to offset: [0]
// CHECK-NEXT: kernel.call @{{.*}} ins(%a : {{.*}} outs(%[[LEFT]]
// CHECK:      kernel.call @wide ins(%t
// CHECK:      %[[RIGHT:.*]] = memref.reinterpret_cast %c to offset: [64]
// CHECK-NEXT: kernel.call @{{.*}} ins(%b : {{.*}} outs(%[[RIGHT]]
// CHECK-NEXT: kernel.call @sum ins(%c
// %a and %c with %t, 512 + 1024 + 256 bytes, and so with %b.
// ARENA: arena_bytes = 1792
func.func @main(%x: memref<2x1xf32> {graph.role = "input"}, %y: memref<2x1xf32> {graph.role = "output"}) {
  %a = memref.alloc() {name = "a"} : memref<2x64xf32>
  kernel.call @wide ins(%x : memref<2x1xf32>) outs(%a : memref<2x64xf32>)
  %t = memref.alloc() {name = "t"} : memref<2x1xf32>
  kernel.call @narrow ins(%a : memref<2x64xf32>) outs(%t : memref<2x1xf32>)
  %b = memref.alloc() {name = "b"} : memref<2x64xf32>
  kernel.call @wide ins(%t : memref<2x1xf32>) outs(%b : memref<2x64xf32>)
  %c = memref.alloc() {name = "c"} : memref<2x128xf32>
  kernel.call @concat ins(%a, %b : memref<2x64xf32>, memref<2x64xf32>) outs(%c : memref<2x128xf32>)
  kernel.call @sum ins(%c : memref<2x128xf32>) outs(%y : memref<2x1xf32>)
  func.return
}
