// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<22xf32> {graph.name = "x", graph.value =
      dense<[-5.0, -1.0, -0.5, 0.0, 0.5, 1.0, 6.0, 7.0, 0x7F800000, 0xFF800000, 0x7FC00000,
             -5.0, -1.0, -0.5, 0.0, 0.5, 1.0, 6.0, 7.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<22xf32>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[-9, 0, 9]> : tensor<3xi32>},
    %u: tensor<3xui8> {graph.name = "u", graph.value = dense<[0, 100, 255]> : tensor<3xui8>},
    %l: tensor<3xi64> {graph.name = "l", graph.value = dense<[-9, 0, 9000000000]> : tensor<3xi64>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[-9.0, 0.1, 9.0]> : tensor<3xf64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[-9.0, 0.5, 9.0]> : tensor<3xf16>},
    %b: tensor<3xbf16> {graph.name = "b", graph.value = dense<[-9.0, 0.5, 9.0]> : tensor<3xbf16>})
    -> (tensor<22xf32> {graph.name = "both", graph.expect =
      dense<[-1.0, -1.0, -0.5, 0.0, 0.5, 1.0, 6.0, 6.0, 6.0, -1.0, 0x7FC00000, -1.0, -1.0,
             -0.5, 0.0, 0.5, 1.0, 6.0, 6.0, 6.0, -1.0, 0x7FC00000]> : tensor<22xf32>},
        tensor<22xf32> {graph.name = "below", graph.expect =
      dense<[0.25, 0.25, 0.25, 0.25, 0.5, 1.0, 6.0, 7.0, 0x7F800000, 0.25, 0x7FC00000,
             0.25, 0.25, 0.25, 0.25, 0.5, 1.0, 6.0, 7.0, 0x7F800000, 0.25, 0x7FC00000]> : tensor<22xf32>},
        tensor<22xf32> {graph.name = "above", graph.expect =
      dense<[-5.0, -1.0, -0.5, 0.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0xFF800000, 0x7FC00000,
             -5.0, -1.0, -0.5, 0.0, 0.25, 0.25, 0.25, 0.25, 0.25, 0xFF800000, 0x7FC00000]> : tensor<22xf32>},
        tensor<22xf32> {graph.name = "free", graph.expect =
      dense<[-5.0, -1.0, -0.5, 0.0, 0.5, 1.0, 6.0, 7.0, 0x7F800000, 0xFF800000, 0x7FC00000,
             -5.0, -1.0, -0.5, 0.0, 0.5, 1.0, 6.0, 7.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<22xf32>},
        tensor<22xf32> {graph.name = "crossed", graph.expect =
      dense<[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0x7FC00000, 1.0, 1.0, 1.0,
             1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0x7FC00000]> : tensor<22xf32>},
        tensor<3xi32> {graph.name = "ints", graph.expect = dense<[-3, 0, 5]> : tensor<3xi32>},
        tensor<3xui8> {graph.name = "unsigned", graph.expect = dense<[0, 100, 255]> : tensor<3xui8>},
        tensor<3xi64> {graph.name = "longs", graph.expect =
      dense<[-9, 0, 5000000000]> : tensor<3xi64>},
        tensor<3xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[-0.1, 0.1, 0.3]> : tensor<3xf64>},
        tensor<3xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[0.0, 0.5, 6.0]> : tensor<3xf16>},
        tensor<3xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[0.0, 0.5, 6.0]> : tensor<3xbf16>}) {
  // Between -1 and 6; NaN stays NaN.
  // CHECK: both: reference, unfused, fused agree
  %both = graph.clip %x {min = -1.0 : f64, max = 6.0 : f64} : tensor<22xf32>

  // Only a lower limit.
  // CHECK: below: reference, unfused, fused agree
  %below = graph.clip %x {min = 0.25 : f64} : tensor<22xf32>

  // Only an upper limit.
  // CHECK: above: reference, unfused, fused agree
  %above = graph.clip %x {max = 0.25 : f64} : tensor<22xf32>

  // No limit at all.
  // CHECK: free: reference, unfused, fused agree
  %free = graph.clip %x : tensor<22xf32>

  // Where the lower limit is above the upper one, the upper one wins.
  // CHECK: crossed: reference, unfused, fused agree
  %crossed = graph.clip %x {min = 2.0 : f64, max = 1.0 : f64} : tensor<22xf32>

  // Integers.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.clip %i {min = -3.0 : f64, max = 5.0 : f64} : tensor<3xi32>

  // Limits beyond the type's range are no limits.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.clip %u {min = -1.0 : f64, max = 1000.0 : f64} : tensor<3xui8>

  // 64 bits.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.clip %l {max = 5.0e9 : f64} : tensor<3xi64>

  // Double precision.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.clip %d {min = -0.1 : f64, max = 0.3 : f64} : tensor<3xf64>

  // f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.clip %h {min = 0.0 : f64, max = 6.0 : f64} : tensor<3xf16>

  // bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.clip %b {min = 0.0 : f64, max = 6.0 : f64} : tensor<3xbf16>

  func.return %both, %below, %above, %free, %crossed, %ints, %unsigned, %longs, %double, %half, %brain
    : tensor<22xf32>, tensor<22xf32>, tensor<22xf32>, tensor<22xf32>, tensor<22xf32>, tensor<3xi32>,
      tensor<3xui8>, tensor<3xi64>, tensor<3xf64>, tensor<3xf16>, tensor<3xbf16>
}
