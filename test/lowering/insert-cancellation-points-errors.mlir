// RUN: not mini-opt %s -p insert-cancellation-points 2>&1 | filecheck %s

// CHECK: insert-cancellation-points: @main has no team of threads; run lower-kernels first
func.func @main(%x: memref<4xf32> {graph.name = "x", graph.role = "input"}) {
  func.return
}
