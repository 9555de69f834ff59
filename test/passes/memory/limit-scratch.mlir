// RUN: mini-opt %s -p form-kernels,choose-schedule | filecheck %s --check-prefix FASTEST
// RUN: mini-opt %s -p form-kernels,choose-schedule,limit-scratch | filecheck %s --check-prefix WORTH
// RUN: mini-opt %s -p 'form-kernels,choose-schedule,limit-scratch{loss=100}' | filecheck %s --check-prefix LEAST
// RUN: mini-opt %s -p 'form-kernels,choose-schedule,limit-scratch{capacity=900000}' | filecheck %s --check-prefix WITHIN
// RUN: not mini-opt %s -p 'form-kernels,choose-schedule,limit-scratch{loss=-1}' 2>&1 | filecheck %s --check-prefix LOSS

// Winograd's transforms win more than 3 % of the model's time, so they may have scratch that is larger than all else.
// FASTEST: graph.kernel @conv_0({{.*}} schedule = #kernel.schedule<"winograd", {tile = 4, {{.*}} per_thread = 1359360
// WORTH: graph.kernel @conv_0({{.*}} schedule = #kernel.schedule<"winograd", {tile = 4, {{.*}} per_thread = 1359360

// Twice as slow at most: smaller tiles.
// LEAST: graph.kernel @conv_0({{.*}} schedule = #kernel.schedule<"winograd", {tile = 2, {{.*}} per_thread = 346112

// The operand and the result have 802816 bytes, and only products without transforms have less scratch than is left.
// WITHIN: graph.kernel @conv_0({{.*}} schedule = #kernel.schedule<"panels", {{.*}} packed = [1 : #kernel.packing<"conv_panels", {nr = 32}>]>, constant

// LOSS: limit-scratch: loss is -1; it must be at least 0

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 1048576, threads = 1>} {
  func.func @main(%x: tensor<1x28x28x128xf32>) -> tensor<1x28x28x128xf32> {
    %w = graph.constant dense<0.5> : tensor<128x128x3x3xf32>
    %0 = graph.relu %x : tensor<1x28x28x128xf32>
    %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x28x28x128xf32>, tensor<128x128x3x3xf32>) -> tensor<1x28x28x128xf32>
    %2 = graph.conv %1, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x28x28x128xf32>, tensor<128x128x3x3xf32>) -> tensor<1x28x28x128xf32>
    func.return %2 : tensor<1x28x28x128xf32>
  }
}
