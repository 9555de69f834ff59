// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %a: tensor<2x2xf32> {graph.name = "a", graph.value =
      dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>},
    %b: tensor<1x2xf32> {graph.name = "b", graph.value = dense<[[5.0, 6.0]]> : tensor<1x2xf32>},
    %c: tensor<3x2xf32> {graph.name = "c", graph.value =
      dense<[[7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]> : tensor<3x2xf32>},
    %p: tensor<2x1xf32> {graph.name = "p", graph.value = dense<[[1.0], [2.0]]> : tensor<2x1xf32>},
    %q: tensor<2x3xf32> {graph.name = "q", graph.value =
      dense<[[3.0, 4.0, 5.0], [6.0, 7.0, 8.0]]> : tensor<2x3xf32>},
    %z: tensor<0x2xf32> {graph.name = "z", graph.value = dense<> : tensor<0x2xf32>},
    %v: tensor<2x3x4xf32> {graph.name = "v", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %v2: tensor<2x1x4xf32> {graph.name = "v2", graph.value =
      dense<[[[-1.0, -2.0, -3.0, -4.0]], [[-13.0, -14.0, -15.0, -16.0]]]> : tensor<2x1x4xf32>},
    %long: tensor<1x37xf32> {graph.name = "long", graph.value =
      dense<[[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0,
             14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0,
             27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0]]> : tensor<1x37xf32>},
    %short: tensor<1x3xf32> {graph.name = "short", graph.value =
      dense<[[-1.0, -2.0, -3.0]]> : tensor<1x3xf32>},
    %t0: tensor<3xi1> {graph.name = "t0", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %t01: tensor<2xi1> {graph.name = "t01", graph.value = dense<[true, false]> : tensor<2xi1>},
    %c0: tensor<3xi8> {graph.name = "c0", graph.value = dense<[1, 0, 3]> : tensor<3xi8>},
    %c01: tensor<2xi8> {graph.name = "c01", graph.value = dense<[4, 0]> : tensor<2xi8>},
    %u0: tensor<3xui8> {graph.name = "u0", graph.value = dense<[1, 0, 3]> : tensor<3xui8>},
    %u01: tensor<2xui8> {graph.name = "u01", graph.value = dense<[4, 0]> : tensor<2xui8>},
    %w0: tensor<3xi16> {graph.name = "w0", graph.value = dense<[1, 0, 3]> : tensor<3xi16>},
    %w01: tensor<2xi16> {graph.name = "w01", graph.value = dense<[4, 0]> : tensor<2xi16>},
    %i0: tensor<3xi32> {graph.name = "i0", graph.value = dense<[1, 0, 3]> : tensor<3xi32>},
    %i01: tensor<2xi32> {graph.name = "i01", graph.value = dense<[4, 0]> : tensor<2xi32>},
    %l0: tensor<3xi64> {graph.name = "l0", graph.value = dense<[1, 0, 3]> : tensor<3xi64>},
    %l01: tensor<2xi64> {graph.name = "l01", graph.value = dense<[4, 0]> : tensor<2xi64>},
    %h0: tensor<3xf16> {graph.name = "h0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf16>},
    %h01: tensor<2xf16> {graph.name = "h01", graph.value = dense<[4.0, 0.0]> : tensor<2xf16>},
    %k0: tensor<3xbf16> {graph.name = "k0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xbf16>},
    %k01: tensor<2xbf16> {graph.name = "k01", graph.value = dense<[4.0, 0.0]> : tensor<2xbf16>},
    %d0: tensor<3xf64> {graph.name = "d0", graph.value = dense<[1.0, 0.0, 3.0]> : tensor<3xf64>},
    %d01: tensor<2xf64> {graph.name = "d01", graph.value = dense<[4.0, 0.0]> : tensor<2xf64>})
    -> (tensor<6x2xf32> {graph.name = "three", graph.expect =
      dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]> : tensor<6x2xf32>},
        tensor<2x6xf32> {graph.name = "columns", graph.expect =
      dense<[[1.0, 1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 4.0, 6.0, 7.0, 8.0]]> : tensor<2x6xf32>},
        tensor<2x4xf32> {graph.name = "twice", graph.expect =
      dense<[[1.0, 2.0, 1.0, 2.0], [3.0, 4.0, 3.0, 4.0]]> : tensor<2x4xf32>},
        tensor<1x2xf32> {graph.name = "one", graph.expect = dense<[[5.0, 6.0]]> : tensor<1x2xf32>},
        tensor<1x2xf32> {graph.name = "empty", graph.expect = dense<[[5.0, 6.0]]> : tensor<1x2xf32>},
        tensor<2x4x4xf32> {graph.name = "middle", graph.expect =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0],
             [-1.0, -2.0, -3.0, -4.0]], [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0],
             [21.0, 22.0, 23.0, 24.0], [-13.0, -14.0, -15.0, -16.0]]]> : tensor<2x4x4xf32>},
        tensor<1x43xf32> {graph.name = "tail", graph.expect =
      dense<[[-1.0, -2.0, -3.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0,
             11.0, 12.0, 13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0,
             24.0, 25.0, 26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0,
             -1.0, -2.0, -3.0]]> : tensor<1x43xf32>},
        tensor<5xi1> {graph.name = "truth", graph.expect =
      dense<[true, false, true, true, false]> : tensor<5xi1>},
        tensor<5xi8> {graph.name = "bytes", graph.expect = dense<[1, 0, 3, 4, 0]> : tensor<5xi8>},
        tensor<5xui8> {graph.name = "unsigned", graph.expect =
      dense<[1, 0, 3, 4, 0]> : tensor<5xui8>},
        tensor<5xi16> {graph.name = "words", graph.expect = dense<[1, 0, 3, 4, 0]> : tensor<5xi16>},
        tensor<5xi32> {graph.name = "ints", graph.expect = dense<[1, 0, 3, 4, 0]> : tensor<5xi32>},
        tensor<5xi64> {graph.name = "longs", graph.expect = dense<[1, 0, 3, 4, 0]> : tensor<5xi64>},
        tensor<5xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.0, 0.0, 3.0, 4.0, 0.0]> : tensor<5xf16>},
        tensor<5xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[1.0, 0.0, 3.0, 4.0, 0.0]> : tensor<5xbf16>},
        tensor<5xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[1.0, 0.0, 3.0, 4.0, 0.0]> : tensor<5xf64>}) {
  // Three matrices of different heights, one below the other.
  // CHECK: three: reference, unfused, fused agree
  %three = graph.concat %a, %b, %c {axis = 0 : i64}
    : (tensor<2x2xf32>, tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<6x2xf32>

  // Side by side.
  // CHECK: columns: reference, unfused, fused agree
  %columns = graph.concat %p, %a, %q {axis = 1 : i64}
    : (tensor<2x1xf32>, tensor<2x2xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>

  // The same operand twice.
  // CHECK: twice: reference, unfused, fused agree
  %twice = graph.concat %a, %a {axis = 1 : i64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>

  // A single operand.
  // CHECK: one: reference, unfused, fused agree
  %one = graph.concat %b {axis = 0 : i64} : tensor<1x2xf32>

  // One without elements adds nothing.
  // CHECK: empty: reference, unfused, fused agree
  %empty = graph.concat %z, %b, %z {axis = 0 : i64}
    : (tensor<0x2xf32>, tensor<1x2xf32>, tensor<0x2xf32>) -> tensor<1x2xf32>

  // Along a middle axis.
  // CHECK: middle: reference, unfused, fused agree
  %middle = graph.concat %v, %v2 {axis = 1 : i64} : (tensor<2x3x4xf32>, tensor<2x1x4xf32>) -> tensor<2x4x4xf32>

  // Rows that fill no vector.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.concat %short, %long, %short {axis = 1 : i64}
    : (tensor<1x3xf32>, tensor<1x37xf32>, tensor<1x3xf32>) -> tensor<1x43xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.concat %t0, %t01 {axis = 0 : i64} : (tensor<3xi1>, tensor<2xi1>) -> tensor<5xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.concat %c0, %c01 {axis = 0 : i64} : (tensor<3xi8>, tensor<2xi8>) -> tensor<5xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.concat %u0, %u01 {axis = 0 : i64} : (tensor<3xui8>, tensor<2xui8>) -> tensor<5xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.concat %w0, %w01 {axis = 0 : i64} : (tensor<3xi16>, tensor<2xi16>) -> tensor<5xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.concat %i0, %i01 {axis = 0 : i64} : (tensor<3xi32>, tensor<2xi32>) -> tensor<5xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.concat %l0, %l01 {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<5xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.concat %h0, %h01 {axis = 0 : i64} : (tensor<3xf16>, tensor<2xf16>) -> tensor<5xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.concat %k0, %k01 {axis = 0 : i64} : (tensor<3xbf16>, tensor<2xbf16>) -> tensor<5xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.concat %d0, %d01 {axis = 0 : i64} : (tensor<3xf64>, tensor<2xf64>) -> tensor<5xf64>

  func.return %three, %columns, %twice, %one, %empty, %middle, %tail, %truth, %bytes, %unsigned, %words, %ints,
    %longs, %half, %brain, %double
    : tensor<6x2xf32>, tensor<2x6xf32>, tensor<2x4xf32>, tensor<1x2xf32>, tensor<1x2xf32>,
      tensor<2x4x4xf32>, tensor<1x43xf32>, tensor<5xi1>, tensor<5xi8>, tensor<5xui8>, tensor<5xi16>,
      tensor<5xi32>, tensor<5xi64>, tensor<5xf16>, tensor<5xbf16>, tensor<5xf64>
}
