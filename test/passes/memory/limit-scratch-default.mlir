// RUN: mini-opt %s -p form-kernels,choose-schedule | filecheck %s --check-prefix FASTEST
// RUN: mini-opt %s -p form-kernels,choose-schedule,limit-scratch | filecheck %s --check-prefix LIMITED

// The convolution is a small part of the model's time. Winograd's transforms would win less than 3 % of it, and double
// the arena.
// FASTEST: graph.kernel @conv_0({{.*}} schedule = #kernel.schedule<"winograd", {tile = 4, {{.*}} per_thread = 1359360
// LIMITED: graph.kernel @conv_0({{.*}} schedule = #kernel.schedule<"winograd", {tile = 2, {{.*}} per_thread = 346112
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 1048576, threads = 1>} {
  func.func @main(%x: tensor<1x28x28x128xf32>) -> tensor<28x4096xf32> {
    %w = graph.constant dense<0.5> : tensor<128x128x3x3xf32>
    %v = graph.constant dense<0.25> : tensor<128x4096xf32>
    %u = graph.constant dense<0.125> : tensor<4096x4096xf32>
    %0 = graph.relu %x : tensor<1x28x28x128xf32>
    %1 = graph.conv %0, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x28x28x128xf32>, tensor<128x128x3x3xf32>) -> tensor<1x28x28x128xf32>
    %2 = graph.reduce_mean %1 {axes = array<i64: 1>} : (tensor<1x28x28x128xf32>) -> tensor<1x28x128xf32>
    %3 = graph.reshape %2 {shape = array<i64: 28, 128>} : (tensor<1x28x128xf32>) -> tensor<28x128xf32>
    %4 = graph.matmul %3, %v : (tensor<28x128xf32>, tensor<128x4096xf32>) -> tensor<28x4096xf32>
    %5 = graph.matmul %4, %u : (tensor<28x4096xf32>, tensor<4096x4096xf32>) -> tensor<28x4096xf32>
    %6 = graph.matmul %5, %u : (tensor<28x4096xf32>, tensor<4096x4096xf32>) -> tensor<28x4096xf32>
    %7 = graph.matmul %6, %u : (tensor<28x4096xf32>, tensor<4096x4096xf32>) -> tensor<28x4096xf32>
    %8 = graph.matmul %7, %u : (tensor<28x4096xf32>, tensor<4096x4096xf32>) -> tensor<28x4096xf32>
    %9 = graph.matmul %8, %u : (tensor<28x4096xf32>, tensor<4096x4096xf32>) -> tensor<28x4096xf32>
    func.return %9 : tensor<28x4096xf32>
  }
}
