// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %q: tensor<1x2x2x2xf64> {graph.name = "q", graph.value =
      dense<[[[[2.04, -2.56], [0.42, -0.57]], [[-0.45, -0.22], [-2.02, -0.23]]]]> : tensor<1x2x2x2xf64>},
    %k: tensor<1x2x1x2xf64> {graph.name = "k", graph.value =
      dense<[[[[-0.87, 3.32]], [[0.23, -0.35]]]]> : tensor<1x2x1x2xf64>},
    %v: tensor<1x2x1x3xf64> {graph.name = "v", graph.value =
      dense<[[[[-0.28, -0.67, -1.06]], [[-0.39, 0.48, -0.24]]]]> : tensor<1x2x1x3xf64>},
    %s: tensor<1x1x2x3xf64> {graph.name = "s", graph.value =
      dense<[[[[0.96, -0.2, 0.02], [1.55, 0.55, -0.51]]]]> : tensor<1x1x2x3xf64>},
    %g: tensor<1x2x1x2xf64> {graph.name = "g", graph.value =
      dense<[[[[0.18, 0.54]], [[1.94, 0.27]]]]> : tensor<1x2x1x2xf64>},
    %g1: tensor<1x2x1x1xf64> {graph.name = "g1", graph.value =
      dense<[[[[0.24]], [[1.0]]]]> : tensor<1x2x1x1xf64>},
    %e: tensor<1x2x1xf64> {graph.name = "e", graph.value =
      dense<[[[-0.89], [-0.29]]]> : tensor<1x2x1xf64>})
    -> (tensor<1x2x2x3xf64> {graph.name = "plain", graph.expect =
      dense<[[[[2.87672, 6.88358, 10.89044], [0.632184, 1.512726, 2.393268]], [[0.105227, 0.214343, 0.365594], [-0.128465, -0.850214, -0.961244]]]]> : tensor<1x2x2x3xf64>},
        tensor<1x1x2x3xf64> {graph.name = "plain_state", graph.expect =
      dense<[[[[0.1539, 0.6933, 0.867], [-0.7931, -2.3924, -3.4352]]]]> : tensor<1x1x2x3xf64>},
        tensor<1x2x2x3xf64> {graph.name = "gated", graph.expect =
      dense<[[[[0.543256, 3.02491, 5.801404], [0.113835, 0.664158, 1.275879]], [[-0.17384088, -0.18783807, -0.28823208], [-0.73811943, -1.10393409, -1.65009819]]]]> : tensor<1x2x2x3xf64>},
        tensor<1x1x2x3xf64> {graph.name = "gated_state", graph.expect =
      dense<[[[[0.718116, 1.171386, 1.740852], [0.111498, -0.688398, -0.940542]]]]> : tensor<1x1x2x3xf64>},
        tensor<1x2x2x3xf64> {graph.name = "delta", graph.expect =
      dense<[[[[-6.2513746026, -5.4756395, -2.8076993701], [-1.3784341888, -1.20312915, -0.6166300818]], [[-0.2860926217, -0.1697308651, -0.0836265796], [0.3772186211, 0.6494426864, 0.324479088]]]]> : tensor<1x2x2x3xf64>},
        tensor<1x1x2x3xf64> {graph.name = "delta_state", graph.expect =
      dense<[[[[-0.8729210891, -1.0672660016, -0.5316486516], [4.3863624252, 3.726051959, 1.8477047834]]]]> : tensor<1x1x2x3xf64>}) {
  // Two heads share one state, which begins with zeros; each step adds the product of its key and value.
  // CHECK: plain: reference, unfused, fused agree
  // CHECK: plain_state: reference, unfused, fused agree
  %plain, %plain_state = graph.linear_attention %q, %k, %v {operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>, scale = 1.0 : f64} : (tensor<1x2x2x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x3xf64>) -> (tensor<1x2x2x3xf64>, tensor<1x1x2x3xf64>)

  // A state from before; each of its rows decays in its own way.
  // CHECK: gated: reference, unfused, fused agree
  // CHECK: gated_state: reference, unfused, fused agree
  %gated, %gated_state = graph.linear_attention %q, %k, %v, %s, %g {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0>, scale = 0.5 : f64} : (tensor<1x2x2x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x3xf64>, tensor<1x1x2x3xf64>, tensor<1x2x1x2xf64>) -> (tensor<1x2x2x3xf64>, tensor<1x1x2x3xf64>)

  // All rows decay alike, and only what the state lacks of the value is added, in part.
  // CHECK: delta: reference, unfused, fused agree
  // CHECK: delta_state: reference, unfused, fused agree
  %delta, %delta_state = graph.linear_attention %q, %k, %v, %s, %g1, %e {operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 1>, scale = 0.5 : f64} : (tensor<1x2x2x2xf64>, tensor<1x2x1x2xf64>, tensor<1x2x1x3xf64>, tensor<1x1x2x3xf64>, tensor<1x2x1x1xf64>, tensor<1x2x1xf64>) -> (tensor<1x2x2x3xf64>, tensor<1x1x2x3xf64>)

  func.return %plain, %plain_state, %gated, %gated_state, %delta, %delta_state
    : tensor<1x2x2x3xf64>, tensor<1x1x2x3xf64>, tensor<1x2x2x3xf64>, tensor<1x1x2x3xf64>, tensor<1x2x2x3xf64>, tensor<1x1x2x3xf64>
}
