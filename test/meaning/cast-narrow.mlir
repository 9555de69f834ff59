// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %f: tensor<9xf32> {graph.name = "f", graph.value =
      dense<[-2.5, -0.0, 0.0, 0.001, 0.02, 1.0625, 1.1875, 6.0, 460.0]> : tensor<9xf32>},
    %l: tensor<4xf32> {graph.name = "l", graph.value = dense<[500.0, -500.0, 70000.0, -70000.0]> : tensor<4xf32>},
    %p: tensor<5xf32> {graph.name = "p", graph.value = dense<[1.0, 1.25, 1.5, 1.75, 0.375]> : tensor<5xf32>},
    %d: tensor<2xf64> {graph.name = "d", graph.value =
      dense<[1.0625000000000002, 1.0625]> : tensor<2xf64>},
    %i: tensor<6xi32> {graph.name = "i", graph.value = dense<[0, 7, 8, -1, 17, -9]> : tensor<6xi32>},
    %q: tensor<3xi4> {graph.name = "q", graph.value = dense<[-8, -1, 7]> : tensor<3xi4>},
    %g: tensor<4xf8E5M2> {graph.name = "g", graph.value = dense<[1.5, -2.0, 49152.0, 0.0]> : tensor<4xf8E5M2>})
    -> (tensor<9xf8E4M3FN> {graph.name = "to_e4m3", graph.expect =
      dense<[-2.5, -0.0, 0.0, 0.001953125, 0.01953125, 1.0, 1.25, 6.0, 448.0]> : tensor<9xf8E4M3FN>},
        tensor<9xf8E5M2> {graph.name = "to_e5m2", graph.expect =
      dense<[-2.5, -0.0, 0.0, 0.0009765625, 0.01953125, 1.0, 1.25, 6.0, 448.0]> : tensor<9xf8E5M2>},
        tensor<9xf4E2M1FN> {graph.name = "to_e2m1", graph.expect =
      dense<[-2.0, -0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 6.0, 6.0]> : tensor<9xf4E2M1FN>},
        tensor<4xf8E4M3FN> {graph.name = "limited", graph.expect =
      dense<[448.0, -448.0, 448.0, -448.0]> : tensor<4xf8E4M3FN>},
        tensor<4xf8E5M2> {graph.name = "unlimited", graph.expect =
      dense<[512.0, -512.0, 0x7C, 0xFC]> : tensor<4xf8E5M2>},
        tensor<5xf8E8M0FNU> {graph.name = "up", graph.expect =
      dense<[1.0, 2.0, 2.0, 2.0, 0.5]> : tensor<5xf8E8M0FNU>},
        tensor<5xf8E8M0FNU> {graph.name = "down", graph.expect =
      dense<[1.0, 1.0, 1.0, 1.0, 0.25]> : tensor<5xf8E8M0FNU>},
        tensor<5xf8E8M0FNU> {graph.name = "nearest", graph.expect =
      dense<[1.0, 1.0, 2.0, 2.0, 0.5]> : tensor<5xf8E8M0FNU>},
        tensor<2xf8E4M3FN> {graph.name = "once", graph.expect = dense<[1.125, 1.0]> : tensor<2xf8E4M3FN>},
        tensor<6xi4> {graph.name = "to_i4", graph.expect = dense<[0, 7, -8, -1, 1, 7]> : tensor<6xi4>},
        tensor<6xui2> {graph.name = "to_ui2", graph.expect = dense<[0, 3, 0, 3, 1, 3]> : tensor<6xui2>},
        tensor<3xf32> {graph.name = "from_i4", graph.expect = dense<[-8.0, -1.0, 7.0]> : tensor<3xf32>},
        tensor<4xf16> {graph.name = "from_e5m2", graph.expect = dense<[1.5, -2.0, 49152.0, 0.0]> : tensor<4xf16>},
        tensor<4xi1> {graph.name = "truths", graph.expect = dense<[true, true, true, false]> : tensor<4xi1>}) {
  // To the nearest, ties to even; below the smallest normal number there are fewer bits.
  // CHECK: to_e4m3: reference, unfused, fused agree
  %to_e4m3 = graph.cast %f {to = f8E4M3FN} : (tensor<9xf32>) -> tensor<9xf8E4M3FN>

  // More exponent, fewer digits.
  // CHECK: to_e5m2: reference, unfused, fused agree
  %to_e5m2 = graph.cast %f {to = f8E5M2} : (tensor<9xf32>) -> tensor<9xf8E5M2>

  // There is no infinity: what is larger becomes the largest.
  // CHECK: to_e2m1: reference, unfused, fused agree
  %to_e2m1 = graph.cast %f {to = f4E2M1FN} : (tensor<9xf32>) -> tensor<9xf4E2M1FN>

  // Limited to the range where that is asked for.
  // CHECK: limited: reference, unfused, fused agree
  %limited = graph.cast %l {to = f8E4M3FN, saturate} : (tensor<4xf32>) -> tensor<4xf8E4M3FN>

  // Otherwise infinite.
  // CHECK: unlimited: reference, unfused, fused agree
  %unlimited = graph.cast %l {to = f8E5M2} : (tensor<4xf32>) -> tensor<4xf8E5M2>

  // To powers of two, away from zero.
  // CHECK: up: reference, unfused, fused agree
  %up = graph.cast %p {to = f8E8M0FNU} : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>

  // Toward zero.
  // CHECK: down: reference, unfused, fused agree
  %down = graph.cast %p {to = f8E8M0FNU, round_mode = "down"} : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>

  // To the nearest, ties away from zero.
  // CHECK: nearest: reference, unfused, fused agree
  %nearest = graph.cast %p {to = f8E8M0FNU, round_mode = "nearest"} : (tensor<5xf32>) -> tensor<5xf8E8M0FNU>

  // From f64 they are rounded once: f32 would make a tie of the first.
  // CHECK: once: reference, unfused, fused agree
  %once = graph.cast %d {to = f8E4M3FN} : (tensor<2xf64>) -> tensor<2xf8E4M3FN>

  // Narrow integers keep the low bits.
  // CHECK: to_i4: reference, unfused, fused agree
  %to_i4 = graph.cast %i {to = i4} : (tensor<6xi32>) -> tensor<6xi4>

  // Also without a sign.
  // CHECK: to_ui2: reference, unfused, fused agree
  %to_ui2 = graph.cast %i {to = ui2} : (tensor<6xi32>) -> tensor<6xui2>

  // Their numbers are exact in every other type.
  // CHECK: from_i4: reference, unfused, fused agree
  %from_i4 = graph.cast %q {to = f32} : (tensor<3xi4>) -> tensor<3xf32>

  // So are those of narrow floats in f16.
  // CHECK: from_e5m2: reference, unfused, fused agree
  %from_e5m2 = graph.cast %g {to = f16} : (tensor<4xf8E5M2>) -> tensor<4xf16>

  // All but zeros are true.
  // CHECK: truths: reference, unfused, fused agree
  %truths = graph.cast %g {to = i1} : (tensor<4xf8E5M2>) -> tensor<4xi1>

  func.return %to_e4m3, %to_e5m2, %to_e2m1, %limited, %unlimited, %up, %down, %nearest, %once, %to_i4, %to_ui2,
    %from_i4, %from_e5m2, %truths
    : tensor<9xf8E4M3FN>, tensor<9xf8E5M2>, tensor<9xf4E2M1FN>, tensor<4xf8E4M3FN>, tensor<4xf8E5M2>,
      tensor<5xf8E8M0FNU>, tensor<5xf8E8M0FNU>, tensor<5xf8E8M0FNU>, tensor<2xf8E4M3FN>, tensor<6xi4>, tensor<6xui2>,
      tensor<3xf32>, tensor<4xf16>, tensor<4xi1>
}
