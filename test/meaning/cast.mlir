// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %f: tensor<19xf32> {graph.name = "f", graph.value =
      dense<[-3.7, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 100.9, -3.7, -1.0, -0.5, -0.0,
             0.0, 0.5, 1.0, 2.5, 100.9, 7.99]> : tensor<19xf32>},
    %n: tensor<3xf32> {graph.name = "n", graph.value =
      dense<[0x7FC00000, 0x7F800000, 0xFF800000]> : tensor<3xf32>},
    %p: tensor<4xf32> {graph.name = "p", graph.value =
      dense<[0.0, 1.9, 200.5, 255.9]> : tensor<4xf32>},
    %i: tensor<4xi32> {graph.name = "i", graph.value = dense<[-1, 0, 300, 16777217]> : tensor<4xi32>},
    %l: tensor<3xi64> {graph.name = "l", graph.value =
      dense<[-1, 1099511627776, 2147483648]> : tensor<3xi64>},
    %u: tensor<3xui8> {graph.name = "u", graph.value = dense<[0, 128, 255]> : tensor<3xui8>},
    %t: tensor<3xi1> {graph.name = "t", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[0.1, 1.0e300, -2.5]> : tensor<3xf64>},
    %g: tensor<2xf64> {graph.name = "g", graph.value =
      dense<[-2.5, 9.007199254740992e15]> : tensor<2xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[0.5, 65500.0, -2.5]> : tensor<3xf16>},
    %b: tensor<3xbf16> {graph.name = "b", graph.value = dense<[0.5, 3.004e38, -2.5]> : tensor<3xbf16>})
    -> (tensor<19xi8> {graph.name = "to_i8", graph.expect =
      dense<[-3, -1, 0, 0, 0, 0, 1, 2, 100, -3, -1, 0, 0, 0, 0, 1, 2, 100, 7]> : tensor<19xi8>},
        tensor<19xi16> {graph.name = "to_i16", graph.expect =
      dense<[-3, -1, 0, 0, 0, 0, 1, 2, 100, -3, -1, 0, 0, 0, 0, 1, 2, 100, 7]> : tensor<19xi16>},
        tensor<19xi32> {graph.name = "to_i32", graph.expect =
      dense<[-3, -1, 0, 0, 0, 0, 1, 2, 100, -3, -1, 0, 0, 0, 0, 1, 2, 100, 7]> : tensor<19xi32>},
        tensor<19xi64> {graph.name = "to_i64", graph.expect =
      dense<[-3, -1, 0, 0, 0, 0, 1, 2, 100, -3, -1, 0, 0, 0, 0, 1, 2, 100, 7]> : tensor<19xi64>},
        tensor<19xi1> {graph.name = "to_i1", graph.expect =
      dense<[true, true, true, false, false, true, true, true, true, true, true, true,
             false, false, true, true, true, true, true]> : tensor<19xi1>},
        tensor<19xf64> {graph.name = "to_f64", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-3.700000047683716, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 100.9000015258789,
             -3.700000047683716, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 100.9000015258789,
             7.989999771118164]> : tensor<19xf64>},
        tensor<19xf16> {graph.name = "to_f16", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[-3.7, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 100.9, -3.7, -1.0, -0.5, -0.0,
             0.0, 0.5, 1.0, 2.5, 100.9, 7.99]> : tensor<19xf16>},
        tensor<19xbf16> {graph.name = "to_bf16", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[-3.703, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.5, 101.0, -3.703, -1.0, -0.5, -0.0,
             0.0, 0.5, 1.0, 2.5, 101.0, 8.0]> : tensor<19xbf16>},
        tensor<3xi1> {graph.name = "not_zero", graph.expect =
      dense<true> : tensor<3xi1>},
        tensor<3xf16> {graph.name = "kept", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0x7E00, 0x7C00, 0xFC00]> : tensor<3xf16>},
        tensor<4xui8> {graph.name = "to_ui8", graph.expect =
      dense<[0, 1, 200, 255]> : tensor<4xui8>},
        tensor<4xui32> {graph.name = "to_ui32", graph.expect =
      dense<[0, 1, 200, 255]> : tensor<4xui32>},
        tensor<4xui64> {graph.name = "to_ui64", graph.expect =
      dense<[0, 1, 200, 255]> : tensor<4xui64>},
        tensor<4xf32> {graph.name = "int_f32", graph.expect =
      dense<[-1.0, 0.0, 300.0, 1.6777216e7]> : tensor<4xf32>},
        tensor<4xf64> {graph.name = "int_f64", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-1.0, 0.0, 300.0, 1.6777217e7]> : tensor<4xf64>},
        tensor<4xi8> {graph.name = "int_i8", graph.expect = dense<[-1, 0, 44, 1]> : tensor<4xi8>},
        tensor<4xui8> {graph.name = "int_ui8", graph.expect =
      dense<[255, 0, 44, 1]> : tensor<4xui8>},
        tensor<4xi64> {graph.name = "int_i64", graph.expect =
      dense<[-1, 0, 300, 16777217]> : tensor<4xi64>},
        tensor<4xi1> {graph.name = "int_i1", graph.expect =
      dense<[true, false, true, true]> : tensor<4xi1>},
        tensor<3xi32> {graph.name = "long_i32", graph.expect =
      dense<[-1, 0, -2147483648]> : tensor<3xi32>},
        tensor<3xf64> {graph.name = "long_f64", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-1.0, 1.099511627776e12, 2.147483648e9]> : tensor<3xf64>},
        tensor<3xf32> {graph.name = "byte_f32", graph.expect =
      dense<[0.0, 128.0, 255.0]> : tensor<3xf32>},
        tensor<3xi32> {graph.name = "byte_i32", graph.expect = dense<[0, 128, 255]> : tensor<3xi32>},
        tensor<3xi8> {graph.name = "byte_i8", graph.expect = dense<[0, -128, -1]> : tensor<3xi8>},
        tensor<3xf32> {graph.name = "truth_f32", graph.expect =
      dense<[1.0, 0.0, 1.0]> : tensor<3xf32>},
        tensor<3xi64> {graph.name = "truth_i64", graph.expect = dense<[1, 0, 1]> : tensor<3xi64>},
        tensor<3xui8> {graph.name = "truth_ui8", graph.expect = dense<[1, 0, 1]> : tensor<3xui8>},
        tensor<3xf16> {graph.name = "truth_f16", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.0, 0.0, 1.0]> : tensor<3xf16>},
        tensor<3xf32> {graph.name = "double_f32", graph.expect =
      dense<[0.1, 0x7F800000, -2.5]> : tensor<3xf32>},
        tensor<2xi64> {graph.name = "double_i64", graph.expect =
      dense<[-2, 9007199254740992]> : tensor<2xi64>},
        tensor<3xf32> {graph.name = "half_f32", graph.expect =
      dense<[0.5, 65504.0, -2.5]> : tensor<3xf32>},
        tensor<3xi32> {graph.name = "half_i32", graph.expect =
      dense<[0, 65504, -2]> : tensor<3xi32>},
        tensor<3xbf16> {graph.name = "half_brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.5, 65540.0, -2.5]> : tensor<3xbf16>},
        tensor<3xf32> {graph.name = "brain_f32", graph.expect =
      dense<[0.5, 3.0040553e38, -2.5]> : tensor<3xf32>},
        tensor<3xf16> {graph.name = "brain_half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.5, 0x7C00, -2.5]> : tensor<3xf16>}) {
  // Floats to i8: toward zero.
  // CHECK: to_i8: reference, unfused, fused agree
  %to_i8 = graph.cast %f {to = i8} : (tensor<19xf32>) -> tensor<19xi8>

  // And to i16.
  // CHECK: to_i16: reference, unfused, fused agree
  %to_i16 = graph.cast %f {to = i16} : (tensor<19xf32>) -> tensor<19xi16>

  // And to i32.
  // CHECK: to_i32: reference, unfused, fused agree
  %to_i32 = graph.cast %f {to = i32} : (tensor<19xf32>) -> tensor<19xi32>

  // And to i64.
  // CHECK: to_i64: reference, unfused, fused agree
  %to_i64 = graph.cast %f {to = i64} : (tensor<19xf32>) -> tensor<19xi64>

  // Floats to truth values: all but zeros are true.
  // CHECK: to_i1: reference, unfused, fused agree
  %to_i1 = graph.cast %f {to = i1} : (tensor<19xf32>) -> tensor<19xi1>

  // To f64 nothing is lost.
  // CHECK: to_f64: reference, unfused, fused agree
  %to_f64 = graph.cast %f {to = f64} : (tensor<19xf32>) -> tensor<19xf64>

  // To f16: rounded.
  // CHECK: to_f16: reference, unfused, fused agree
  %to_f16 = graph.cast %f {to = f16} : (tensor<19xf32>) -> tensor<19xf16>

  // To bf16: rounded.
  // CHECK: to_bf16: reference, unfused, fused agree
  %to_bf16 = graph.cast %f {to = bf16} : (tensor<19xf32>) -> tensor<19xbf16>

  // NaN and infinities are true.
  // CHECK: not_zero: reference, unfused, fused agree
  %not_zero = graph.cast %n {to = i1} : (tensor<3xf32>) -> tensor<3xi1>

  // They stay what they are in f16.
  // CHECK: kept: reference, unfused, fused agree
  %kept = graph.cast %n {to = f16} : (tensor<3xf32>) -> tensor<3xf16>

  // Floats to unsigned bytes.
  // CHECK: to_ui8: reference, unfused, fused agree
  %to_ui8 = graph.cast %p {to = ui8} : (tensor<4xf32>) -> tensor<4xui8>

  // And to 32 bits.
  // CHECK: to_ui32: reference, unfused, fused agree
  %to_ui32 = graph.cast %p {to = ui32} : (tensor<4xf32>) -> tensor<4xui32>

  // And to 64 bits.
  // CHECK: to_ui64: reference, unfused, fused agree
  %to_ui64 = graph.cast %p {to = ui64} : (tensor<4xf32>) -> tensor<4xui64>

  // Integers to f32: 16777217 has one digit too many.
  // CHECK: int_f32: reference, unfused, fused agree
  %int_f32 = graph.cast %i {to = f32} : (tensor<4xi32>) -> tensor<4xf32>

  // f64 has room for it.
  // CHECK: int_f64: reference, unfused, fused agree
  %int_f64 = graph.cast %i {to = f64} : (tensor<4xi32>) -> tensor<4xf64>

  // A narrower integer takes the low bits: 300 becomes 44.
  // CHECK: int_i8: reference, unfused, fused agree
  %int_i8 = graph.cast %i {to = i8} : (tensor<4xi32>) -> tensor<4xi8>

  // As an unsigned one, -1 becomes 255.
  // CHECK: int_ui8: reference, unfused, fused agree
  %int_ui8 = graph.cast %i {to = ui8} : (tensor<4xi32>) -> tensor<4xui8>

  // A wider one keeps the sign.
  // CHECK: int_i64: reference, unfused, fused agree
  %int_i64 = graph.cast %i {to = i64} : (tensor<4xi32>) -> tensor<4xi64>

  // To truth values.
  // CHECK: int_i1: reference, unfused, fused agree
  %int_i1 = graph.cast %i {to = i1} : (tensor<4xi32>) -> tensor<4xi1>

  // 64 bits to 32: the low ones.
  // CHECK: long_i32: reference, unfused, fused agree
  %long_i32 = graph.cast %l {to = i32} : (tensor<3xi64>) -> tensor<3xi32>

  // 64 bits to f64.
  // CHECK: long_f64: reference, unfused, fused agree
  %long_f64 = graph.cast %l {to = f64} : (tensor<3xi64>) -> tensor<3xf64>

  // Unsigned bytes are never negative.
  // CHECK: byte_f32: reference, unfused, fused agree
  %byte_f32 = graph.cast %u {to = f32} : (tensor<3xui8>) -> tensor<3xf32>

  // Nor as integers.
  // CHECK: byte_i32: reference, unfused, fused agree
  %byte_i32 = graph.cast %u {to = i32} : (tensor<3xui8>) -> tensor<3xi32>

  // As signed ones 128 and 255 are -128 and -1.
  // CHECK: byte_i8: reference, unfused, fused agree
  %byte_i8 = graph.cast %u {to = i8} : (tensor<3xui8>) -> tensor<3xi8>

  // Truth is one.
  // CHECK: truth_f32: reference, unfused, fused agree
  %truth_f32 = graph.cast %t {to = f32} : (tensor<3xi1>) -> tensor<3xf32>

  // Also as an integer.
  // CHECK: truth_i64: reference, unfused, fused agree
  %truth_i64 = graph.cast %t {to = i64} : (tensor<3xi1>) -> tensor<3xi64>

  // Also as a byte.
  // CHECK: truth_ui8: reference, unfused, fused agree
  %truth_ui8 = graph.cast %t {to = ui8} : (tensor<3xi1>) -> tensor<3xui8>

  // Also in f16.
  // CHECK: truth_f16: reference, unfused, fused agree
  %truth_f16 = graph.cast %t {to = f16} : (tensor<3xi1>) -> tensor<3xf16>

  // f64 to f32: what is too large becomes infinite.
  // CHECK: double_f32: reference, unfused, fused agree
  %double_f32 = graph.cast %d {to = f32} : (tensor<3xf64>) -> tensor<3xf32>

  // f64 to 64 bits.
  // CHECK: double_i64: reference, unfused, fused agree
  %double_i64 = graph.cast %g {to = i64} : (tensor<2xf64>) -> tensor<2xi64>

  // f16 to f32.
  // CHECK: half_f32: reference, unfused, fused agree
  %half_f32 = graph.cast %h {to = f32} : (tensor<3xf16>) -> tensor<3xf32>

  // f16 to integers.
  // CHECK: half_i32: reference, unfused, fused agree
  %half_i32 = graph.cast %h {to = i32} : (tensor<3xf16>) -> tensor<3xi32>

  // f16 to bf16: fewer digits.
  // CHECK: half_brain: reference, unfused, fused agree
  %half_brain = graph.cast %h {to = bf16} : (tensor<3xf16>) -> tensor<3xbf16>

  // bf16 to f32.
  // CHECK: brain_f32: reference, unfused, fused agree
  %brain_f32 = graph.cast %b {to = f32} : (tensor<3xbf16>) -> tensor<3xf32>

  // bf16 to f16: 3e38 is too large.
  // CHECK: brain_half: reference, unfused, fused agree
  %brain_half = graph.cast %b {to = f16} : (tensor<3xbf16>) -> tensor<3xf16>

  func.return %to_i8, %to_i16, %to_i32, %to_i64, %to_i1, %to_f64, %to_f16, %to_bf16, %not_zero, %kept, %to_ui8,
    %to_ui32, %to_ui64, %int_f32, %int_f64, %int_i8, %int_ui8, %int_i64, %int_i1, %long_i32,
    %long_f64, %byte_f32, %byte_i32, %byte_i8, %truth_f32, %truth_i64, %truth_ui8, %truth_f16,
    %double_f32, %double_i64, %half_f32, %half_i32, %half_brain, %brain_f32, %brain_half
    : tensor<19xi8>, tensor<19xi16>, tensor<19xi32>, tensor<19xi64>, tensor<19xi1>, tensor<19xf64>,
      tensor<19xf16>, tensor<19xbf16>, tensor<3xi1>, tensor<3xf16>, tensor<4xui8>, tensor<4xui32>,
      tensor<4xui64>, tensor<4xf32>, tensor<4xf64>, tensor<4xi8>, tensor<4xui8>, tensor<4xi64>,
      tensor<4xi1>, tensor<3xi32>, tensor<3xf64>, tensor<3xf32>, tensor<3xi32>, tensor<3xi8>,
      tensor<3xf32>, tensor<3xi64>, tensor<3xui8>, tensor<3xf16>, tensor<3xf32>, tensor<2xi64>,
      tensor<3xf32>, tensor<3xi32>, tensor<3xbf16>, tensor<3xf32>, tensor<3xf16>
}
