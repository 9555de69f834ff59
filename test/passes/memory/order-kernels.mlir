// RUN: mini-opt %s -p order-kernels | filecheck %s
// RUN: not mini-opt %s -p 'order-kernels{alignment=48}' 2>&1 | filecheck %s --check-prefix=ALIGNED
// RUN: not mini-opt %s -p 'order-kernels{disable=addition}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// ALIGNED: order-kernels: alignment is 48; it must be a power of two of at least 8 bytes
// UNKNOWN: order-kernels: there is no op graph.addition to disable

// Two branches that narrow: one after the other, only one wide value lives at a time.
//   given:  wide_a, wide_b, narrow_a, narrow_b, add   64 KB + 64 KB live at once
//   better: wide_a, narrow_a, wide_b, narrow_b, add   64 KB + 4 KB + 64 KB - 64 KB
// CHECK-LABEL: func.func @main
// CHECK:       %[[A:.*]] = graph.call @wide(%x)
// CHECK-NEXT:  %[[NA:.*]] = graph.call @narrow(%[[A]])
// CHECK-NEXT:  %[[B:.*]] = graph.call @wide(%x)
// CHECK-NEXT:  %[[NB:.*]] = graph.call @narrow(%[[B]])
// A reshape follows what it reshapes.
// CHECK-NEXT:  %[[R:.*]] = graph.reshape %[[NB]]
// CHECK-NEXT:  %[[SUM:.*]] = graph.call @sum(%[[NA]], %[[R]])
// CHECK-NEXT:  func.return %[[SUM]]
graph.kernel @wide(%x: tensor<1024xf32>) -> tensor<16x1024xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.broadcast_to %x {shape = array<i64: 16, 1024>} : (tensor<1024xf32>) -> tensor<16x1024xf32>
  graph.yield %r : tensor<16x1024xf32>
}
graph.kernel @narrow(%x: tensor<16x1024xf32>) -> tensor<1x1024xf32> attributes {interface = #kernel.interface<>} {
  %r = graph.reduce_sum %x {axes = array<i64: 0>, keepdims} : (tensor<16x1024xf32>) -> tensor<1x1024xf32>
  graph.yield %r : tensor<1x1024xf32>
}
graph.kernel @sum(%a: tensor<1x1024xf32>, %b: tensor<1024xf32>) -> tensor<1x1024xf32> attributes {interface = #kernel.interface<inplace = [[0, 0]]>} {
  %r = graph.add %a, %b : (tensor<1x1024xf32>, tensor<1024xf32>) -> tensor<1x1024xf32>
  graph.yield %r : tensor<1x1024xf32>
}
func.func @main(%x: tensor<1024xf32>) -> tensor<1x1024xf32> {
  %a = graph.call @wide(%x) : (tensor<1024xf32>) -> tensor<16x1024xf32>
  %b = graph.call @wide(%x) : (tensor<1024xf32>) -> tensor<16x1024xf32>
  %na = graph.call @narrow(%a) : (tensor<16x1024xf32>) -> tensor<1x1024xf32>
  %nb = graph.call @narrow(%b) : (tensor<16x1024xf32>) -> tensor<1x1024xf32>
  %flat = graph.reshape %nb {shape = array<i64: 1024>} : (tensor<1x1024xf32>) -> tensor<1024xf32>
  %s = graph.call @sum(%na, %flat) : (tensor<1x1024xf32>, tensor<1024xf32>) -> tensor<1x1024xf32>
  func.return %s : tensor<1x1024xf32>
}
