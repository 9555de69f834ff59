// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %u: tensor<4xui8> {graph.name = "u", graph.value = dense<[0, 1, 128, 255]> : tensor<4xui8>},
    %s: tensor<2x3xi8> {graph.name = "s", graph.value = dense<[[-128, 0, 127], [1, 2, 3]]> : tensor<2x3xi8>},
    %i: tensor<4xi32> {graph.name = "i", graph.value =
      dense<[-2147483648, -3, 16777217, 2147483647]> : tensor<4xi32>},
    %w: tensor<3xui16> {graph.name = "w", graph.value = dense<[0, 40000, 65535]> : tensor<3xui16>},
    %n: tensor<2xi4> {graph.name = "n", graph.value = dense<[-8, 7]> : tensor<2xi4>},
    %half: tensor<f32> {graph.name = "half", graph.value = dense<0.5> : tensor<f32>},
    %columns: tensor<3xf32> {graph.name = "columns", graph.value = dense<[1.0, 0.1, -2.0]> : tensor<3xf32>},
    %wide: tensor<f64> {graph.name = "wide", graph.value = dense<0.1> : tensor<f64>},
    %short: tensor<f16> {graph.name = "short", graph.value = dense<0.5> : tensor<f16>},
    %zu: tensor<ui8> {graph.name = "zu", graph.value = dense<128> : tensor<ui8>},
    %zs: tensor<3xi8> {graph.name = "zs", graph.value = dense<[127, 0, -1]> : tensor<3xi8>},
    %zw: tensor<ui16> {graph.name = "zw", graph.value = dense<65535> : tensor<ui16>})
    -> (tensor<4xf32> {graph.name = "bare", graph.expect = dense<[0.0, 0.5, 64.0, 127.5]> : tensor<4xf32>},
        tensor<4xf32> {graph.name = "shifted", graph.expect = dense<[-64.0, -63.5, 0.0, 63.5]> : tensor<4xf32>},
        tensor<2x3xf32> {graph.name = "along", graph.expect =
      dense<[[-255.0, 0.0, -256.0], [-126.0, 0.2, -8.0]]> : tensor<2x3xf32>},
        tensor<4xf32> {graph.name = "large", graph.expect =
      dense<[-1073741824.0, -1.5, 8388608.0, 1073741824.0]> : tensor<4xf32>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-6553.5, -2553.5, 0.0]> : tensor<3xf64>},
        tensor<4xf16> {graph.name = "brief", graph.expect = dense<[0.0, 0.5, 64.0, 127.5]> : tensor<4xf16>},
        tensor<2xf32> {graph.name = "four", graph.expect = dense<[-4.0, 3.5]> : tensor<2xf32>}) {
  // The number times the scale.
  // CHECK: bare: reference, unfused, fused agree
  %bare = graph.dequantize %u, %half : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>

  // What is less than the zero point is negative, in unsigned numbers too.
  // CHECK: shifted: reference, unfused, fused agree
  %shifted = graph.dequantize %u, %half, %zu : (tensor<4xui8>, tensor<f32>, tensor<ui8>) -> tensor<4xf32>

  // A scale and a zero point for each column; the distance of two numbers may have one bit more than they have.
  // CHECK: along: reference, unfused, fused agree
  %along = graph.dequantize %s, %columns, %zs : (tensor<2x3xi8>, tensor<3xf32>, tensor<3xi8>) -> tensor<2x3xf32>

  // 32 bits: rounded to the scale's type first.
  // CHECK: large: reference, unfused, fused agree
  %large = graph.dequantize %i, %half : (tensor<4xi32>, tensor<f32>) -> tensor<4xf32>

  // 16 bits, and double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.dequantize %w, %wide, %zw : (tensor<3xui16>, tensor<f64>, tensor<ui16>) -> tensor<3xf64>

  // f16.
  // CHECK: brief: reference, unfused, fused agree
  %brief = graph.dequantize %u, %short : (tensor<4xui8>, tensor<f16>) -> tensor<4xf16>

  // 4 bits, which are only stored.
  // CHECK: four: reference, unfused, fused agree
  %four = graph.dequantize %n, %half : (tensor<2xi4>, tensor<f32>) -> tensor<2xf32>

  func.return %bare, %shifted, %along, %large, %double, %brief, %four
    : tensor<4xf32>, tensor<4xf32>, tensor<2x3xf32>, tensor<4xf32>, tensor<3xf64>, tensor<4xf16>, tensor<2xf32>
}
