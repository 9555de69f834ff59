// A tree ensemble whose tables don't belong together.
// RUN: mini-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<5x2xf32>, %n: tensor<1x1x4x2xi32>, %w: tensor<1x1x4x1xf32>, %t: tensor<1x2x3x3xi32>) -> tensor<1x5x1xf32> {
  // expected-error @below {{tests of shape [1, 2, 3, 3]}}
  %y = graph.tree_ensemble %x, %n, %w, %t {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, trees = 1 : i64, depth = 2 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x1x4x2xi32>, tensor<1x1x4x1xf32>, tensor<1x2x3x3xi32>) -> tensor<1x5x1xf32>
  func.return %y : tensor<1x5x1xf32>
}

// -----

func.func @main(%x: tensor<5x2xf32>, %n: tensor<1x1x64x2xi32>, %w: tensor<1x1x64x1xf32>, %t: tensor<1x1x3x3xi32>) -> tensor<1x5x1xf32> {
  // expected-error @below {{masks of 1 words for 64 leaves}}
  %y = graph.tree_ensemble %x, %n, %w, %t {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, trees = 1 : i64, depth = 6 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x1x64x2xi32>, tensor<1x1x64x1xf32>, tensor<1x1x3x3xi32>) -> tensor<1x5x1xf32>
  func.return %y : tensor<1x5x1xf32>
}

// -----

func.func @main(%x: tensor<5x2xf32>, %n: tensor<9x4xi32>, %w: tensor<5x1xf32>, %r: tensor<1x2xi32>, %t: tensor<1x2x3x3xi32>) -> tensor<1x5x1xf32> {
  // expected-error @below {{trees with tests have equally many leaves}}
  %y = graph.tree_ensemble %x, %n, %w, %r, %t {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1>, trees = 2 : i64, depth = 2 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<9x4xi32>, tensor<5x1xf32>, tensor<1x2xi32>, tensor<1x2x3x3xi32>) -> tensor<1x5x1xf32>
  func.return %y : tensor<1x5x1xf32>
}

// -----

func.func @main(%x: tensor<5x2xf32>, %n: tensor<1x1x4x2xi32>, %w: tensor<1x1x4x1xf32>, %t: tensor<1x1x3x3xi64>) -> tensor<1x5x1xf32> {
  // expected-error @below {{tests of features of f32 are words of i32}}
  %y = graph.tree_ensemble %x, %n, %w, %t {operandSegmentSizes = array<i32: 1, 1, 1, 0, 1>, trees = 1 : i64, depth = 2 : i64, aggregate = "sum"} : (tensor<5x2xf32>, tensor<1x1x4x2xi32>, tensor<1x1x4x1xf32>, tensor<1x1x3x3xi64>) -> tensor<1x5x1xf32>
  func.return %y : tensor<1x5x1xf32>
}
