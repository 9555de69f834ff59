// A filter that is computed is packed when the model runs: by a kernel that its users share.
// RUN: mini-opt %s -p form-kernels,choose-schedule,pack-weights | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%x: tensor<1x5x2xf32> {graph.name = "x"}, %w: tensor<9x2x3xf32> {graph.name = "w"}) -> (tensor<1x3x9xf32> {graph.name = "y"}, tensor<1x2x9xf32> {graph.name = "z"}) {
    %y = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x5x2xf32>, tensor<9x2x3xf32>) -> tensor<1x3x9xf32>
    %z = graph.conv %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x5x2xf32>, tensor<9x2x3xf32>) -> tensor<1x2x9xf32>
    func.return %y, %z : tensor<1x3x9xf32>, tensor<1x2x9xf32>
  }
}

// CHECK-LABEL: func.func @main(%x: {{.*}}, %w:
// CHECK-NEXT:    %[[P:.*]] = graph.call @pack_conv_panels_0(%w) : (tensor<9x2x3xf32>) -> tensor<1x2x6x8xf32>
// CHECK-NEXT:    graph.call @conv_0(%x, %[[P]])
// CHECK-NEXT:    graph.call @conv_1(%x, %[[P]])

// The filter's own bytes may lie anywhere; its panels lie as packed.
// CHECK:       graph.kernel @conv_0({{.*}}) {{.*}} attributes {form = {{.*}}, schedule = {{.*}}, interface = #kernel.interface<strided_operands = [0], strided_results = [0], packed = [1 : #kernel.packing<"conv_panels", {nr = 8}>]>}

// 9 columns are two panels of 8, the second filled up with zeros.
// CHECK:       graph.kernel @pack_conv_panels_0(%[[W:.*]]: tensor<9x2x3xf32>) -> tensor<1x2x6x8xf32> attributes {form = #kernel.form<"map">, schedule = #kernel.schedule<"elements"
// CHECK-NEXT:    %[[G:.*]] = graph.reshape %[[W]] {shape = array<i64: 1, 9, 2, 3>}
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[G]] {permutation = array<i64: 0, 3, 2, 1>}
// CHECK-NEXT:    %[[K:.*]] = graph.reshape %[[T]] {shape = array<i64: 1, 6, 9>}
// CHECK-NEXT:    %[[Z:.*]] = graph.pad %[[K]] {low = array<i64: 0, 0, 0>, high = array<i64: 0, 0, 7>
// CHECK-NEXT:    %[[S:.*]] = graph.reshape %[[Z]] {shape = array<i64: 1, 6, 2, 8>}
// CHECK-NEXT:    graph.transpose %[[S]] {permutation = array<i64: 0, 2, 1, 3>}
