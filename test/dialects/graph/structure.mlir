// Weights, constants and kernels keep their form in text.
// RUN: mini-opt %s | mini-opt | filecheck %s

// CHECK:      func.func @main
// CHECK-NEXT:   graph.weight #graph.blob<"model.onnx", 4096, 16, "0123456789abcdef"> {place = 1 : i64} : tensor<4xf32> loc("conv1.weight")
// CHECK-NEXT:   graph.constant dense<1.500000e+00> : tensor<4xf32>
// CHECK-NEXT:   graph.constant dense<[1, 2]> : tensor<2xi64>
func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
  %w = graph.weight #graph.blob<"model.onnx", 4096, 16, "0123456789abcdef"> {place = 1 : i64} : tensor<4xf32> loc("conv1.weight")
  %c = graph.constant dense<1.5> : tensor<4xf32>
  %d = graph.constant dense<[1, 2]> : tensor<2xi64>
  // Infinities and NaN are bytes.
  // CHECK-NEXT: graph.constant dense<"0x000080FF"> : tensor<2x2xf32>
  // CHECK-NEXT: graph.constant dense<"0x00000000000080FF"> : tensor<2xf32>
  // CHECK-NEXT: graph.constant dense<true> : tensor<i1>
  // CHECK-NEXT: graph.constant dense<> : tensor<0x3xf16>
  %e = graph.constant dense<"0x000080FF"> : tensor<2x2xf32>
  %f = graph.constant dense<"0x00000000000080FF"> : tensor<2xf32>
  %g = graph.constant dense<true> : tensor<i1>
  %h = graph.constant dense<> : tensor<0x3xf16>
  // CHECK-NEXT: graph.call @both(%{{.*}}, %{{.*}}) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) loc("conv1")
  // CHECK-NEXT: graph.call @nothing() : () -> ()
  %y, %z = graph.call @both(%x, %w) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) loc("conv1")
  graph.call @nothing() : () -> ()
  func.return %y : tensor<4xf32>
}

// CHECK:      graph.kernel @both(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) attributes {schedule = "any", interface = [0 : i64], other = 1 : i64} {
// CHECK:        graph.yield %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi1>
graph.kernel @both(%x: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xi1>) attributes {schedule = "any", interface = [0], other = 1} {
  %y = graph.add %x, %w : tensor<4xf32>
  %z = graph.less %x, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
  graph.yield %y, %z : tensor<4xf32>, tensor<4xi1>
}

// CHECK:      graph.kernel @nothing() {
// CHECK-NEXT:   graph.yield
graph.kernel @nothing() {
  graph.yield
}
