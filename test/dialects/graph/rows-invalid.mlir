// Rows that can't be read or replaced where they lie.
// RUN: mini-opt %s --split-input-file --verify-diagnostics

func.func @main(%x: tensor<2x4xf32>, %i: index) {
  // expected-error @below {{rows along axis 1 of shape [2, 4] don't lie in one piece}}
  %y = graph.extract_rows %x, %i {axis = 1 : i64, size = 2 : i64} : (tensor<2x4xf32>, index) -> tensor<2x2xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>, %i: index) {
  // expected-error @below {{5 of 4 rows}}
  %y = graph.extract_rows %x, %i {axis = 0 : i64, size = 5 : i64} : (tensor<4xf32>, index) -> tensor<5xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4x2xf32>, %new: tensor<1x3xf32>, %i: index) {
  // expected-error @below {{shapes [4, 2] and [1, 3] differ outside of axis 0}}
  %y = graph.insert_rows %x, %new, %i {axis = 0 : i64} : (tensor<4x2xf32>, tensor<1x3xf32>, index) -> tensor<4x2xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>, %new: tensor<1xf32>, %i: index) -> tensor<4xf32> {
  // expected-error @below {{the value that rows are inserted into has another user}}
  %y = graph.insert_rows %x, %new, %i {axis = 0 : i64} : (tensor<4xf32>, tensor<1xf32>, index) -> tensor<4xf32>
  func.return %x : tensor<4xf32>
}
