// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<3xui8> {graph.name = "x", graph.value = dense<[241, 126, 9]> : tensor<3xui8>})
    -> (tensor<5xi4> {graph.name = "signed", graph.expect = dense<[1, -1, -2, 7, -7]> : tensor<5xi4>},
        tensor<2x3xui4> {graph.name = "unsigned", graph.expect = dense<[[1, 15, 14], [7, 9, 0]]> : tensor<2x3xui4>},
        tensor<12xi2> {graph.name = "quarters", graph.expect =
          dense<[1, 0, -1, -1, -2, -1, -1, 1, 1, -2, 0, 0]> : tensor<12xi2>},
        tensor<3x4xui2> {graph.name = "unsigned_quarters", graph.expect =
          dense<[[1, 0, 3, 3], [2, 3, 3, 1], [1, 2, 0, 0]]> : tensor<3x4xui2>},
        tensor<6xf4E2M1FN> {graph.name = "floats", graph.expect =
          dense<[0.5, -6.0, -4.0, 6.0, -0.5, 0.0]> : tensor<6xf4E2M1FN>},
        tensor<2x4xui8> {graph.name = "across", graph.expect = dense<[[1, 6, 3, 7], [7, 2, 2, 0]]> : tensor<2x4xui8>},
        tensor<4xui8> {graph.name = "wide", graph.expect = dense<[49, 59, 23, 2]> : tensor<4xui8>}) {
  // Two to a byte, the first in the low half; the last byte's other half is not read.
  // CHECK: signed: reference, unfused, fused agree
  %signed = graph.unpack_bits %x {to = i4, shape = array<i64: 5>} : (tensor<3xui8>) -> tensor<5xi4>

  // Elements stand in row-major order.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.unpack_bits %x {to = ui4, shape = array<i64: 2, 3>} : (tensor<3xui8>) -> tensor<2x3xui4>

  // Four to a byte.
  // CHECK: quarters: reference, unfused, fused agree
  %quarters = graph.unpack_bits %x {to = i2, shape = array<i64: 12>} : (tensor<3xui8>) -> tensor<12xi2>

  // The same without signs.
  // CHECK: unsigned_quarters: reference, unfused, fused agree
  %unsigned_quarters = graph.unpack_bits %x {to = ui2, shape = array<i64: 3, 4>} : (tensor<3xui8>) -> tensor<3x4xui2>

  // Floats of 4 bits.
  // CHECK: floats: reference, unfused, fused agree
  %floats = graph.unpack_bits %x {to = f4E2M1FN, shape = array<i64: 6>} : (tensor<3xui8>) -> tensor<6xf4E2M1FN>

  // Three bits without a type of their own: the third and the sixth number lie across two bytes.
  // CHECK: across: reference, unfused, fused agree
  %across = graph.unpack_bits %x {to = ui8, shape = array<i64: 2, 4>, width = 3 : i64}
    : (tensor<3xui8>) -> tensor<2x4xui8>

  // Six bits; the last byte is the last number's alone.
  // CHECK: wide: reference, unfused, fused agree
  %wide = graph.unpack_bits %x {to = ui8, shape = array<i64: 4>, width = 6 : i64} : (tensor<3xui8>) -> tensor<4xui8>

  func.return %signed, %unsigned, %quarters, %unsigned_quarters, %floats, %across, %wide
    : tensor<5xi4>, tensor<2x3xui4>, tensor<12xi2>, tensor<3x4xui2>, tensor<6xf4E2M1FN>, tensor<2x4xui8>, tensor<4xui8>
}
