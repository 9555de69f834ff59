// RUN: mini-opt %s -t check | filecheck %s

func.func @main()
    -> (tensor<4xi64> {graph.name = "up", graph.expect = dense<[3, 5, 7, 9]> : tensor<4xi64>},
        tensor<3xi64> {graph.name = "down", graph.expect = dense<[0, -1, -2]> : tensor<3xi64>}) {
  // From a first number, so many, in steps.
  // CHECK: up: reference, unfused, fused agree
  %up = graph.iota {numbers = array<i64: 3, 4, 2>} : tensor<4xi64>

  // Steps may go down.
  // CHECK: down: reference, unfused, fused agree
  %down = graph.iota {numbers = array<i64: 0, 3, -1>} : tensor<3xi64>
  func.return %up, %down : tensor<4xi64>, tensor<3xi64>
}
