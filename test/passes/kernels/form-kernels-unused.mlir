// RUN: mini-opt %s -p 'form-kernels{forbid=winograd}' | filecheck %s

// A convolution that nothing reads is a kernel without results.
// CHECK-LABEL: func.func @main
// CHECK:         graph.call @conv_0(%x, %{{.*}}) : (tensor<1x16x16x96xf32>, tensor<96x96x3x3xf32>) -> ()
// CHECK:         func.return
// CHECK:       graph.kernel @conv_0
// CHECK:         graph.yield
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 512, registers = 32, l2 = 65536, threads = 1>} {
  func.func @main(%x: tensor<1x16x16x96xf32> {graph.name = "x"}) -> (tensor<1x16x16x96xf32> {graph.name = "y"}) {
    %w = graph.weight #graph.blob<"", 0, 331776, "a"> : tensor<96x96x3x3xf32>
    %c = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x96xf32>, tensor<96x96x3x3xf32>) -> tensor<1x16x16x96xf32>
    %y = graph.relu %x : tensor<1x16x16x96xf32>
    func.return %y : tensor<1x16x16x96xf32>
  }
}
