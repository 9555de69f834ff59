// RUN: mini-opt %s -p elide-copies | filecheck %s

// Half of each row of an input, as one line, and of that one element: the line is no box of the input, but nobody
// reads more of it than the element, which is one. The copy into the output, which stays, is given just that.
// CHECK-LABEL: func.func @main(%x
// CHECK-NEXT:  %[[E:.*]] = memref.reinterpret_cast %x to offset: [7], sizes: [1], strides: [1]
// CHECK-NEXT:  kernel.call @copy_0 ins(%[[E]] : {{.*}}) outs(%y : memref<1xf32>)
// CHECK-NEXT:  func.return
func.func @main(%x: memref<3x4xf32> {graph.role = "input"}, %y: memref<1xf32> {graph.role = "output"}) {
  %half = memref.alloc() {name = "half"} : memref<3x2xf32>
  kernel.call @right_half ins(%x : memref<3x4xf32>) outs(%half : memref<3x2xf32>)
  %line = memref.alloc() {name = "line"} : memref<6xf32>
  kernel.call @flatten ins(%half : memref<3x2xf32>) outs(%line : memref<6xf32>)
  kernel.call @fourth ins(%line : memref<6xf32>) outs(%y : memref<1xf32>)
  func.return
}

graph.kernel @right_half(%x: tensor<3x4xf32>) -> tensor<3x2xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [3, 2] from 2 [4, 1] at 0 [2, 1]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.slice %x {starts = array<i64: 0, 2>, stops = array<i64: 3, 4>, steps = array<i64: 1, 1>} : (tensor<3x4xf32>) -> tensor<3x2xf32>
  graph.yield %r : tensor<3x2xf32>
}
graph.kernel @flatten(%x: tensor<3x2xf32>) -> tensor<6xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [6] from 0 [1] at 0 [1]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.reshape %x {shape = array<i64: 6>} : (tensor<3x2xf32>) -> tensor<6xf32>
  graph.yield %r : tensor<6xf32>
}
graph.kernel @fourth(%x: tensor<6xf32>) -> tensor<1xf32> attributes {interface = #kernel.interface<moves = [0 to 0 sizes [1] from 3 [1] at 0 [1]], strided_operands = [0], strided_results = [0]>} {
  %r = graph.slice %x {starts = array<i64: 3>, stops = array<i64: 4>, steps = array<i64: 1>} : (tensor<6xf32>) -> tensor<1xf32>
  graph.yield %r : tensor<1xf32>
}
