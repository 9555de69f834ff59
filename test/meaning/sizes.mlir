// RUN: mini-opt %s -t check | filecheck %s

func.func @main()
    -> (tensor<3xi64> {graph.name = "sizes", graph.expect = dense<[2, 3, 224]> : tensor<3xi64>}) {
  // The numbers themselves; where they hang on shapes of run time, those of the shapes at hand.
  // CHECK: sizes: reference, unfused, fused agree
  %sizes = graph.sizes {sizes = array<i64: 2, 3, 224>} : tensor<3xi64>
  func.return %sizes : tensor<3xi64>
}
