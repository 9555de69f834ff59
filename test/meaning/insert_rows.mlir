// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<1x5x2xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]]> : tensor<1x5x2xf32>})
    -> (tensor<1x4x2xf32> {graph.name = "negated", graph.expect =
          dense<[[[-3.0, -4.0], [-5.0, -6.0], [-7.0, -8.0], [-9.0, -10.0]]]> : tensor<1x4x2xf32>},
        tensor<2x2xf32> {graph.name = "copied", graph.expect =
          dense<[[3.0, 4.0], [5.0, 6.0]]> : tensor<2x2xf32>}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index

  // Each turn reads two rows of x, one behind the last turn's, and writes two of the result.
  // CHECK: negated: reference, unfused, fused agree
  %rows = graph.empty : tensor<1x4x2xf32>
  %negated = scf.for %i = %zero to %two step %one iter_args(%into = %rows) -> (tensor<1x4x2xf32>) {
    %to = arith.muli %i, %two : index
    %from = arith.addi %to, %one : index
    %read = graph.extract_rows %x, %from {axis = 1 : i64, size = 2 : i64} : (tensor<1x5x2xf32>, index) -> tensor<1x2x2xf32>
    %made = graph.neg %read : tensor<1x2x2xf32>
    %more = graph.insert_rows %into, %made, %to {axis = 1 : i64} : (tensor<1x4x2xf32>, tensor<1x2x2xf32>, index) -> tensor<1x4x2xf32>
    scf.yield %more : tensor<1x4x2xf32>
  }

  // Rows of an input are copied; the number of a slot may be a remainder.
  // CHECK: copied: reference, unfused, fused agree
  %slots = graph.empty : tensor<2x2xf32>
  %copied = scf.for %i = %one to %two step %one iter_args(%into = %slots) -> (tensor<2x2xf32>) {
    %first = graph.extract_rows %x, %i {axis = 1 : i64, size = 1 : i64} : (tensor<1x5x2xf32>, index) -> tensor<1x1x2xf32>
    %row = graph.reshape %first {shape = array<i64: 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
    %slot = arith.addi %i, %one : index
    %even = arith.remsi %slot, %two : index
    %once = graph.insert_rows %into, %row, %even {axis = 0 : i64} : (tensor<2x2xf32>, tensor<1x2xf32>, index) -> tensor<2x2xf32>
    %second = graph.extract_rows %x, %slot {axis = 1 : i64, size = 1 : i64} : (tensor<1x5x2xf32>, index) -> tensor<1x1x2xf32>
    %other = graph.reshape %second {shape = array<i64: 1, 2>} : (tensor<1x1x2xf32>) -> tensor<1x2xf32>
    %odd = arith.remsi %i, %two : index
    %twice = graph.insert_rows %once, %other, %odd {axis = 0 : i64} : (tensor<2x2xf32>, tensor<1x2xf32>, index) -> tensor<2x2xf32>
    scf.yield %twice : tensor<2x2xf32>
  }
  func.return %negated, %copied : tensor<1x4x2xf32>, tensor<2x2xf32>
}
