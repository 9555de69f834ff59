// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x2xf32> {graph.name = "x", graph.value = dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>})
    -> (tensor<2x2xf32> {graph.name = "replaced", graph.expect =
          dense<[[-1.0, -2.0], [-3.0, -4.0]]> : tensor<2x2xf32>}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index

  // What it holds is not said: turns replace all of it.
  // CHECK: replaced: reference, unfused, fused agree
  %any = graph.empty : tensor<2x2xf32>
  %replaced = scf.for %i = %zero to %two step %one iter_args(%into = %any) -> (tensor<2x2xf32>) {
    %row = graph.extract_rows %x, %i {axis = 0 : i64, size = 1 : i64} : (tensor<2x2xf32>, index) -> tensor<1x2xf32>
    %negated = graph.neg %row : tensor<1x2xf32>
    %more = graph.insert_rows %into, %negated, %i {axis = 0 : i64} : (tensor<2x2xf32>, tensor<1x2xf32>, index) -> tensor<2x2xf32>
    scf.yield %more : tensor<2x2xf32>
  }
  func.return %replaced : tensor<2x2xf32>
}
