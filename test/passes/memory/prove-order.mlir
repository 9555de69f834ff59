// A chain: both sides of the middle call are live with it in every order. verify-arena refuses a bound that is higher.
// RUN: mini-opt %s -p bufferize,plan-arena,prove-order,verify-arena | filecheck %s

// CHECK: kernel.order = {bound = 512 : i64, window = array<i64: 1>, sets = ["0"]}
graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = graph.call @k(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %b = graph.call @k(%a) : (tensor<64xf32>) -> tensor<64xf32>
  %c = graph.call @k(%b) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %c : tensor<64xf32>
}
