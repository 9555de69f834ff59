// RUN: mini-opt %s -t check | filecheck %s

// An error where it is run: see refused.mlir.
func.func @main(
    %x: tensor<2xf32> {graph.name = "x", graph.value = dense<[1.0, -2.0]> : tensor<2xf32>},
    %c: tensor<i1> {graph.name = "c", graph.value = dense<true> : tensor<i1>})
    -> (tensor<2xf32> {graph.name = "y", graph.expect = dense<[1.0, 0.0]> : tensor<2xf32>}) {
  %taken = tensor.extract %c[] : tensor<i1>
  %z = scf.if %taken -> (tensor<2xf32>) {
    scf.yield %x : tensor<2xf32>
  } else {
    %failed = graph.fail {message = "the other side was taken"} : tensor<2xf32>
    scf.yield %failed : tensor<2xf32>
  }
  // Where it stands in a branch that isn't taken, nothing is wrong.
  // CHECK: y: reference, unfused, fused agree
  %y = graph.relu %z : tensor<2xf32>
  func.return %y : tensor<2xf32>
}
