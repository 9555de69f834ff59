// RUN: mini-opt %s -t check | filecheck %s

// Scores are 2 and 0 in the first row, -4 and 3 in the second one, and then 1.5 tanh(x / 1.5).

func.func @main(
    %q: tensor<1x1x2x2xf64> {graph.name = "q", graph.value =
      dense<[[[[4.0, 0.0], [-8.0, 6.0]]]]> : tensor<1x1x2x2xf64>},
    %k: tensor<1x1x2x2xf64> {graph.name = "k", graph.value =
      dense<[[[[1.0, 0.0], [0.0, 1.0]]]]> : tensor<1x1x2x2xf64>},
    %v: tensor<1x1x2x1xf64> {graph.name = "v", graph.value = dense<[[[[1.0], [3.0]]]]> : tensor<1x1x2x1xf64>})
    -> (tensor<1x1x2x1xf64> {graph.name = "capped", graph.expect =
          dense<[[[[1.4266184127355115], [2.8987758315642664]]]]> : tensor<1x1x2x1xf64>},
        tensor<1x1x2x1xf64> {graph.name = "causal", graph.expect =
          dense<[[[[1.0], [2.8987758315642664]]]]> : tensor<1x1x2x1xf64>}) {
  // No score is beyond 1.5.
  // CHECK: capped: reference, unfused, fused agree
  %capped = graph.attention %q, %k, %v {scale = 0.5 : f64, softcap = 1.5 : f64}
    : (tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x1xf64>) -> tensor<1x1x2x1xf64>

  // A key that a row doesn't have stays without weight.
  // CHECK: causal: reference, unfused, fused agree
  %causal = graph.attention %q, %k, %v {scale = 0.5 : f64, softcap = 1.5 : f64, causal}
    : (tensor<1x1x2x2xf64>, tensor<1x1x2x2xf64>, tensor<1x1x2x1xf64>) -> tensor<1x1x2x1xf64>

  func.return %capped, %causal : tensor<1x1x2x1xf64>, tensor<1x1x2x1xf64>
}
