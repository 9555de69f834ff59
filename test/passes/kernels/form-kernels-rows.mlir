// RUN: mini-opt %s --split-input-file -p form-kernels | filecheck %s

// What makes the rows of a normalisation on a GPU joins it, rows of tables included; another reader takes them as a second
// result.
// CHECK-LABEL: @main
// CHECK:         %[[X:.*]], %[[Y:.*]] = graph.call @layer_norm_0
// CHECK-NEXT:    graph.call @relu_0(%[[X]])
// CHECK-NEXT:    func.return
// CHECK:       graph.kernel @layer_norm_0
// CHECK-NEXT:    graph.gather
// CHECK-NEXT:    graph.gather
// CHECK-NEXT:    graph.add
// CHECK-NEXT:    graph.layer_norm
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%i: tensor<2x7xi64>, %j: tensor<2x7xi64>, %a: tensor<50x64xf32>, %b: tensor<2x64xf32>, %s: tensor<64xf32>) -> (tensor<2x7x64xf32>, tensor<2x7x64xf32>) {
    %p = graph.gather %a, %i {axis = 0 : i64} : (tensor<50x64xf32>, tensor<2x7xi64>) -> tensor<2x7x64xf32>
    %q = graph.gather %b, %j {axis = 0 : i64} : (tensor<2x64xf32>, tensor<2x7xi64>) -> tensor<2x7x64xf32>
    %x = graph.add %p, %q : tensor<2x7x64xf32>
    %y = graph.layer_norm %x, %s, %s {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<2x7x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x7x64xf32>
    %z = graph.relu %x : tensor<2x7x64xf32>
    func.return %y, %z : tensor<2x7x64xf32>, tensor<2x7x64xf32>
  }
}

// -----

// A reader between the two needs the rows earlier.
// CHECK-LABEL: @main
// CHECK:         %[[X:.*]] = graph.call @add_0
// CHECK-NEXT:    %[[Z:.*]] = graph.call @relu_0(%[[X]])
// CHECK-NEXT:    graph.call @layer_norm_add_0(%[[X]], %{{.*}}, %[[Z]])
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main(%a: tensor<7x64xf32>, %b: tensor<7x64xf32>, %s: tensor<64xf32>) -> tensor<7x64xf32> {
    %x = graph.add %a, %b : tensor<7x64xf32>
    %z = graph.relu %x : tensor<7x64xf32>
    %y = graph.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<7x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<7x64xf32>
    %w = graph.add %y, %z : tensor<7x64xf32>
    func.return %w : tensor<7x64xf32>
  }
}

// -----

// A CPU makes each pass over a row that is in a near cache.
// CHECK-LABEL: @main
// CHECK:         %[[X:.*]] = graph.call @add_0
// CHECK-NEXT:    graph.call @layer_norm_0(%[[X]],
func.func @main(%a: tensor<7x64xf32>, %b: tensor<7x64xf32>, %s: tensor<64xf32>) -> tensor<7x64xf32> {
  %x = graph.add %a, %b : tensor<7x64xf32>
  %y = graph.layer_norm %x, %s, %s {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<7x64xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<7x64xf32>
  func.return %y : tensor<7x64xf32>
}
