// RUN: mini-opt %s --split-input-file -p form-kernels,fold-kernels | filecheck %s

// What is computed of constants alone is a constant in each run; the other kernel takes it, reshaped.
// CHECK-LABEL: @main
// CHECK-NOT:     @gather
// CHECK:         %[[BIAS:.*]] = graph.weight #graph.blob<"", {{.*}} : tensor<6x2xf32>
// CHECK:         graph.call @[[KERNEL:.*]]({{.*}})
// CHECK-NOT:     graph.kernel @gather
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<4x6x2xf32>) -> tensor<4x6x2xf32> {
    %t = graph.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %i = graph.constant dense<[0, 1, 1, 0, 1, 0]> : tensor<6xi64>
    %g = graph.gather %t, %i {axis = 0 : i64} : (tensor<2x2xf32>, tensor<6xi64>) -> tensor<6x2xf32>
    %s = graph.softmax %x {axis = 2 : i64} : tensor<4x6x2xf32>
    %m = graph.softmax %g {axis = 1 : i64} : tensor<6x2xf32>
    %y = graph.add %s, %m : (tensor<4x6x2xf32>, tensor<6x2xf32>) -> tensor<4x6x2xf32>
    func.return %y : tensor<4x6x2xf32>
  }
}

// -----

// A result of the model is written in each run.
// CHECK-LABEL: @main
// CHECK:         graph.call @softmax_0
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%x: tensor<4xf32>) -> tensor<6x2xf32> {
    %t = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]> : tensor<6x2xf32>
    %m = graph.softmax %t {axis = 1 : i64} : tensor<6x2xf32>
    func.return %m : tensor<6x2xf32>
  }
}

// -----

// On a CPU it lies in the arena, whose bytes others use, too.
// CHECK-LABEL: @main
// CHECK-COUNT-2: graph.call @softmax
func.func @main(%x: tensor<4x6x2xf32>) -> tensor<4x6x2xf32> {
  %t = graph.constant dense<[[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]> : tensor<6x2xf32>
  %s = graph.softmax %x {axis = 2 : i64} : tensor<4x6x2xf32>
  %m = graph.softmax %t {axis = 1 : i64} : tensor<6x2xf32>
  %y = graph.add %s, %m : (tensor<4x6x2xf32>, tensor<6x2xf32>) -> tensor<4x6x2xf32>
  func.return %y : tensor<4x6x2xf32>
}
