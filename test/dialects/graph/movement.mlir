// Movement ops keep their form in text.
// RUN: mini-opt %s | mini-opt | filecheck %s

func.func @movement(%x: tensor<2x3x4xf32>, %i: tensor<5xi64>) {
  // CHECK: graph.reshape %x {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  // CHECK: graph.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  // CHECK: graph.broadcast_to %x {shape = array<i64: 7, 2, 3, 4>} : (tensor<2x3x4xf32>) -> tensor<7x2x3x4xf32>
  // CHECK: graph.concat %x, %x, %x {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x9x4xf32>
  // CHECK: graph.slice %x {starts = array<i64: 1, 0, 3>, stops = array<i64: 2, 3, -1>, steps = array<i64: 1, 2, -1>} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  // CHECK: graph.pad %x {low = array<i64: 0, 1, 1>, high = array<i64: 0, 0, 2>, mode = "reflect", value = 0.000000e+00 : f64} : (tensor<2x3x4xf32>) -> tensor<2x4x7xf32>
  // CHECK: graph.resize %x {shape = array<i64: 2, 3, 8>, scales = array<f64: 1.000000e+00, 1.000000e+00, 2.000000e+00>, mode = "linear", coordinate = "half_pixel", nearest = "floor", cubic_a = -7.500000e-01 : f64, antialias} : (tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  %0 = graph.reshape %x {shape = array<i64: 6, 4>} : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
  %1 = graph.transpose %x {permutation = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %2 = graph.broadcast_to %x {shape = array<i64: 7, 2, 3, 4>} : (tensor<2x3x4xf32>) -> tensor<7x2x3x4xf32>
  %3 = graph.concat %x, %x, %x {axis = 1} : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x9x4xf32>
  %4 = graph.slice %x {starts = array<i64: 1, 0, 3>, stops = array<i64: 2, 3, -1>, steps = array<i64: 1, 2, -1>} : (tensor<2x3x4xf32>) -> tensor<1x2x4xf32>
  %5 = graph.pad %x {low = array<i64: 0, 1, 1>, high = array<i64: 0, 0, 2>, mode = "reflect", value = 0.0} : (tensor<2x3x4xf32>) -> tensor<2x4x7xf32>
  %6 = graph.resize %x {shape = array<i64: 2, 3, 8>, scales = array<f64: 1.0, 1.0, 2.0>, mode = "linear", coordinate = "half_pixel", nearest = "floor", cubic_a = -0.75, antialias} : (tensor<2x3x4xf32>) -> tensor<2x3x8xf32>
  func.return
}

func.func @indexing(%x: tensor<2x3x4xf32>, %i: tensor<5xi64>, %e: tensor<2x3x1xi32>, %n: tensor<2x1xi64>, %u: tensor<2x3x1xf32>, %s: tensor<2x3x4xf32>) {
  // CHECK: graph.gather %x, %i {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<2x5x4xf32>
  // CHECK: graph.gather_elements %x, %e {axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x1xf32>
  // CHECK: graph.gather_nd %x, %n {batch_dims = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  // CHECK: graph.scatter_nd %x, %n, %s {reduction = "none"} : (tensor<2x3x4xf32>, tensor<2x1xi64>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: graph.scatter_elements %x, %e, %u {reduction = "add", axis = 2 : i64} : (tensor<2x3x4xf32>, tensor<2x3x1xi32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  %0 = graph.gather %x, %i {axis = 1} : (tensor<2x3x4xf32>, tensor<5xi64>) -> tensor<2x5x4xf32>
  %1 = graph.gather_elements %x, %e {axis = 2} : (tensor<2x3x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x1xf32>
  %2 = graph.gather_nd %x, %n {batch_dims = 1} : (tensor<2x3x4xf32>, tensor<2x1xi64>) -> tensor<2x4xf32>
  %3 = graph.scatter_nd %x, %n, %s {reduction = "none"} : (tensor<2x3x4xf32>, tensor<2x1xi64>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  %4 = graph.scatter_elements %x, %e, %u {reduction = "add", axis = 2} : (tensor<2x3x4xf32>, tensor<2x3x1xi32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
  func.return
}
