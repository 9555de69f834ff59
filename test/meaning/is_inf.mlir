// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<17xf32> {graph.name = "x", graph.value =
      dense<[0x7FC00000, 0x7F800000, 0xFF800000, 0.0, 1.0e-40, 3.4e38, -1.0, 0x7FC00000,
             0x7F800000, 0xFF800000, 0.0, 1.0e-40, 3.4e38, -1.0, 0x7FC00000, 1.0, 0x7F800000]> : tensor<17xf32>},
    %d: tensor<4xf64> {graph.name = "d", graph.value =
      dense<[0x7FF8000000000000, 0xFFF0000000000000, 1.0e300, 0.0]> : tensor<4xf64>},
    %h: tensor<4xf16> {graph.name = "h", graph.value =
      dense<[0x7E00, 0xFC00, 65500.0, 0.0]> : tensor<4xf16>},
    %b: tensor<4xbf16> {graph.name = "b", graph.value =
      dense<[0x7FC0, 0xFF80, 3.0, 0.0]> : tensor<4xbf16>})
    -> (tensor<17xi1> {graph.name = "floats", graph.expect =
      dense<[false, true, true, false, false, false, false, false, true, true, false,
             false, false, false, false, false, true]> : tensor<17xi1>},
        tensor<4xi1> {graph.name = "double", graph.expect =
      dense<[false, true, false, false]> : tensor<4xi1>},
        tensor<4xi1> {graph.name = "half", graph.expect =
      dense<[false, true, false, false]> : tensor<4xi1>},
        tensor<4xi1> {graph.name = "brain", graph.expect =
      dense<[false, true, false, false]> : tensor<4xi1>}) {
  // Both infinities, and nothing else: NaN is not infinite, nor is the largest number.
  // CHECK: floats: reference, unfused, fused agree
  %floats = graph.is_inf %x : (tensor<17xf32>) -> tensor<17xi1>

  // Double precision: 1e300 is a number here.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.is_inf %d : (tensor<4xf64>) -> tensor<4xi1>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.is_inf %h : (tensor<4xf16>) -> tensor<4xi1>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.is_inf %b : (tensor<4xbf16>) -> tensor<4xi1>

  func.return %floats, %double, %half, %brain : tensor<17xi1>, tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
}
