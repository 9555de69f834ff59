// RUN: mini-opt %s -p 'choose-schedule{forbid=computed_panels,elements}' --split-input-file --verify-diagnostics

func.func @main() {
  func.return
}
// expected-error @unknown {{graph.kernel @matmul: no allowed schedule supports this contraction; those that would: computed_panels, elements}}
graph.kernel @matmul(%a: tensor<4x64xf32>, %b: tensor<64x32xf32>) -> tensor<4x32xf32> attributes {form = #kernel.form<"contraction">} {
  %m = graph.matmul %a, %b : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  graph.yield %m : tensor<4x32xf32>
}

// -----

func.func @main() {
  func.return
}
// expected-error @unknown {{graph.kernel @k: no form; run form-kernels first}}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  graph.yield %x : tensor<4xf32>
}
