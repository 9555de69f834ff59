// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %f: tensor<5xf32> {graph.name = "f", graph.value = dense<[1.0, -2.0, 0.0, -0.0, 0.15625]> : tensor<5xf32>},
    %h: tensor<2xf16> {graph.name = "h", graph.value = dense<[1.0, -2.0]> : tensor<2xf16>},
    %i: tensor<2xi64> {graph.name = "i", graph.value = dense<[4607182418800017408, -1]> : tensor<2xi64>},
    %u: tensor<4xui8> {graph.name = "u", graph.value = dense<[0, 56, 255, 184]> : tensor<4xui8>},
    %n: tensor<3xui4> {graph.name = "n", graph.value = dense<[7, 8, 15]> : tensor<3xui4>},
    %t: tensor<2xi1> {graph.name = "t", graph.value = dense<[true, false]> : tensor<2xi1>},
    %s: tensor<f32> {graph.name = "s", graph.value = dense<1.0> : tensor<f32>})
    -> (tensor<5xi32> {graph.name = "f_i32", graph.expect =
          dense<[1065353216, -1073741824, 0, -2147483648, 1042284544]> : tensor<5xi32>},
        tensor<2xui16> {graph.name = "h_ui16", graph.expect = dense<[15360, 49152]> : tensor<2xui16>},
        tensor<2xbf16> {graph.name = "h_bf16", graph.expect = dense<[7.8125e-03, -2.0]> : tensor<2xbf16>},
        tensor<2xui64> {graph.name = "i_ui64", graph.expect =
          dense<[4607182418800017408, 18446744073709551615]> : tensor<2xui64>},
        tensor<4xi8> {graph.name = "u_i8", graph.expect = dense<[0, 56, -1, -72]> : tensor<4xi8>},
        tensor<4xi1> {graph.name = "u_i1", graph.expect = dense<[false, true, true, true]> : tensor<4xi1>},
        tensor<3xi4> {graph.name = "n_i4", graph.expect = dense<[7, -8, -1]> : tensor<3xi4>},
        tensor<2xui8> {graph.name = "t_ui8", graph.expect = dense<[1, 0]> : tensor<2xui8>},
        tensor<i32> {graph.name = "s_i32", graph.expect = dense<1065353216> : tensor<i32>}) {
  // Sign, exponent and mantissa as one integer.
  // CHECK: f_i32: reference, unfused, fused agree
  %f_i32 = graph.bitcast %f {to = i32} : (tensor<5xf32>) -> tensor<5xi32>

  // Of 16 bits.
  // CHECK: h_ui16: reference, unfused, fused agree
  %h_ui16 = graph.bitcast %h {to = ui16} : (tensor<2xf16>) -> tensor<2xui16>

  // From one type of floats to another.
  // CHECK: h_bf16: reference, unfused, fused agree
  %h_bf16 = graph.bitcast %h {to = bf16} : (tensor<2xf16>) -> tensor<2xbf16>

  // Of 64 bits.
  // CHECK: i_ui64: reference, unfused, fused agree
  %i_ui64 = graph.bitcast %i {to = ui64} : (tensor<2xi64>) -> tensor<2xui64>

  // Bytes with a sign.
  // CHECK: u_i8: reference, unfused, fused agree
  %u_i8 = graph.bitcast %u {to = i8} : (tensor<4xui8>) -> tensor<4xi8>

  // Every byte but 0 is a truth value that is true.
  // CHECK: u_i1: reference, unfused, fused agree
  %u_i1 = graph.bitcast %u {to = i1} : (tensor<4xui8>) -> tensor<4xi1>

  // Four bits are the low ones of their bytes.
  // CHECK: n_i4: reference, unfused, fused agree
  %n_i4 = graph.bitcast %n {to = i4} : (tensor<3xui4>) -> tensor<3xi4>

  // Truth values are bytes.
  // CHECK: t_ui8: reference, unfused, fused agree
  %t_ui8 = graph.bitcast %t {to = ui8} : (tensor<2xi1>) -> tensor<2xui8>

  // One number without dimensions.
  // CHECK: s_i32: reference, unfused, fused agree
  %s_i32 = graph.bitcast %s {to = i32} : (tensor<f32>) -> tensor<i32>

  func.return %f_i32, %h_ui16, %h_bf16, %i_ui64, %u_i8, %u_i1, %n_i4, %t_ui8, %s_i32
    : tensor<5xi32>, tensor<2xui16>, tensor<2xbf16>, tensor<2xui64>, tensor<4xi8>, tensor<4xi1>, tensor<3xi4>,
      tensor<2xui8>, tensor<i32>
}
