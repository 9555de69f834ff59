// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<18xf32> {graph.name = "x", graph.value =
      dense<[-2.5, -1.5, -0.5, 0.0, 0.5, 1.5, 2.5, 100.0, -100.0, 254.0, 255.0, 300.0, 0.49, 0.51,
             1.0e30, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<18xf32>},
    %m: tensor<2x3xf32> {graph.name = "m", graph.value =
      dense<[[-1.0, 2.0, 3.0], [1.0, -2.0, 40.0]]> : tensor<2x3xf32>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[-9.0, 0.1, 9.0]> : tensor<3xf64>},
    %h: tensor<4xf16> {graph.name = "h", graph.value = dense<[-1024.0, 0.5, 2.0, 2049.0]> : tensor<4xf16>},
    %one: tensor<f32> {graph.name = "one", graph.value = dense<1.0> : tensor<f32>},
    %thirds: tensor<2x1xf32> {graph.name = "thirds", graph.value = dense<[[0.25], [2.0]]> : tensor<2x1xf32>},
    %wide: tensor<f64> {graph.name = "wide", graph.value = dense<0.1> : tensor<f64>},
    %half: tensor<f16> {graph.name = "half", graph.value = dense<0.09997558> : tensor<f16>},
    %zu: tensor<ui8> {graph.name = "zu", graph.value = dense<128> : tensor<ui8>},
    %zs: tensor<2x1xi8> {graph.name = "zs", graph.value = dense<[[-100], [7]]> : tensor<2x1xi8>},
    %zw: tensor<ui16> {graph.name = "zw", graph.value = dense<40000> : tensor<ui16>})
    -> (tensor<18xui8> {graph.name = "bare", graph.expect =
      dense<[0, 0, 0, 0, 0, 2, 2, 100, 0, 254, 255, 255, 0, 1, 255, 255, 0, 0]> : tensor<18xui8>},
        tensor<18xui8> {graph.name = "shifted", graph.expect =
      dense<[126, 126, 128, 128, 128, 130, 130, 228, 28, 255, 255, 255, 128, 129, 255, 255, 0, 0]> : tensor<18xui8>},
        tensor<18xi8> {graph.name = "signed", graph.expect =
      dense<[-2, -2, 0, 0, 0, 2, 2, 100, -100, 127, 127, 127, 0, 1, 127, 127, -128, -128]> : tensor<18xi8>},
        tensor<2x3xi8> {graph.name = "rows", graph.expect =
      dense<[[-104, -92, -88], [7, 6, 27]]> : tensor<2x3xi8>},
        tensor<3xi16> {graph.name = "double", graph.expect = dense<[-90, 1, 90]> : tensor<3xi16>},
        tensor<4xi16> {graph.name = "brief", graph.expect = dense<[-10240, 5, 20, 20480]> : tensor<4xi16>},
        tensor<18xui16> {graph.name = "sixteen", graph.expect =
      dense<[39998, 39998, 40000, 40000, 40000, 40002, 40002, 40100, 39900, 40254, 40255, 40300, 40000, 40001,
             65535, 65535, 0, 0]> : tensor<18xui16>},
        tensor<18xi4> {graph.name = "four", graph.expect =
      dense<[-2, -2, 0, 0, 0, 2, 2, 7, -8, 7, 7, 7, 0, 1, 7, 7, -8, -8]> : tensor<18xi4>},
        tensor<18xui8> {graph.name = "odd", graph.expect =
      dense<[1, 1, 3, 3, 3, 5, 5, 103, 0, 255, 255, 255, 3, 4, 255, 255, 0, 0]> : tensor<18xui8>},
        tensor<18xi8> {graph.name = "even", graph.expect =
      dense<[-104, -104, -102, -102, -102, -100, -100, -2, -128, 127, 127, 127, -102, -101, 127, 127, -128, -128]>
        : tensor<18xi8>},
        tensor<18xi16> {graph.name = "negative", graph.expect =
      dense<[-32768, -32768, -32767, -32767, -32767, -32765, -32765, -32667, -32768, -32513, -32512, -32467, -32767,
             -32766, 32767, 32767, -32768, -32768]> : tensor<18xi16>}) {
  // Halves go to the even neighbour; what is outside of the type goes to its ends, and NaN to the least number.
  // CHECK: bare: reference, unfused, fused agree
  %bare = graph.quantize %x, %one {to = ui8} : (tensor<18xf32>, tensor<f32>) -> tensor<18xui8>

  // A zero point is added after rounding.
  // CHECK: shifted: reference, unfused, fused agree
  %shifted = graph.quantize %x, %one, %zu {to = ui8} : (tensor<18xf32>, tensor<f32>, tensor<ui8>) -> tensor<18xui8>

  // Signed numbers.
  // CHECK: signed: reference, unfused, fused agree
  %signed = graph.quantize %x, %one {to = i8} : (tensor<18xf32>, tensor<f32>) -> tensor<18xi8>

  // A scale and a zero point for each row.
  // CHECK: rows: reference, unfused, fused agree
  %rows = graph.quantize %m, %thirds, %zs {to = i8}
    : (tensor<2x3xf32>, tensor<2x1xf32>, tensor<2x1xi8>) -> tensor<2x3xi8>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.quantize %d, %wide {to = i16} : (tensor<3xf64>, tensor<f64>) -> tensor<3xi16>

  // The quotient is rounded to the scale's type: 2048 by 0.09997558 is 20485, and the nearest f16 is 20480.
  // CHECK: brief: reference, unfused, fused agree
  %brief = graph.quantize %h, %half {to = i16} : (tensor<4xf16>, tensor<f16>) -> tensor<4xi16>

  // 16 bits.
  // CHECK: sixteen: reference, unfused, fused agree
  %sixteen = graph.quantize %x, %one, %zw {to = ui16}
    : (tensor<18xf32>, tensor<f32>, tensor<ui16>) -> tensor<18xui16>

  // 4 bits, which are only stored.
  // CHECK: four: reference, unfused, fused agree
  %four = graph.quantize %x, %one {to = i4} : (tensor<18xf32>, tensor<f32>) -> tensor<18xi4>

  // Known zero points, by which code is specialised: an odd one, to which halves still go by the even step.
  // CHECK: odd: reference, unfused, fused agree
  %three = graph.constant dense<3> : tensor<ui8>
  %odd = graph.quantize %x, %one, %three {to = ui8} : (tensor<18xf32>, tensor<f32>, tensor<ui8>) -> tensor<18xui8>

  // An even one, below zero.
  // CHECK: even: reference, unfused, fused agree
  %below = graph.constant dense<-102> : tensor<i8>
  %even = graph.quantize %x, %one, %below {to = i8} : (tensor<18xf32>, tensor<f32>, tensor<i8>) -> tensor<18xi8>

  // An odd one of 16 bits, almost the least.
  // CHECK: negative: reference, unfused, fused agree
  %last = graph.constant dense<-32767> : tensor<i16>
  %negative = graph.quantize %x, %one, %last {to = i16} : (tensor<18xf32>, tensor<f32>, tensor<i16>) -> tensor<18xi16>

  func.return %bare, %shifted, %signed, %rows, %double, %brief, %sixteen, %four, %odd, %even, %negative
    : tensor<18xui8>, tensor<18xui8>, tensor<18xi8>, tensor<2x3xi8>, tensor<3xi16>, tensor<4xi16>, tensor<18xui16>,
      tensor<18xi4>, tensor<18xui8>, tensor<18xi8>, tensor<18xi16>
}
