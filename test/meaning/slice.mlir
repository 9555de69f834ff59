// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3x4xf32> {graph.name = "x", graph.value =
      dense<[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]],
             [[13.0, 14.0, 15.0, 16.0], [17.0, 18.0, 19.0, 20.0], [21.0, 22.0, 23.0, 24.0]]]> : tensor<2x3x4xf32>},
    %long: tensor<41xf32> {graph.name = "long", graph.value =
      dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0,
             14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0,
             27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0, 39.0,
             40.0]> : tensor<41xf32>},
    %t: tensor<2x3xi1> {graph.name = "t", graph.value =
      dense<[[true, false, true], [false, true, false]]> : tensor<2x3xi1>},
    %c: tensor<2x3xi8> {graph.name = "c", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>},
    %u: tensor<2x3xui8> {graph.name = "u", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xui8>},
    %w: tensor<2x3xi16> {graph.name = "w", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi16>},
    %i: tensor<2x3xi32> {graph.name = "i", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>},
    %l: tensor<2x3xi64> {graph.name = "l", graph.value =
      dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi64>},
    %h: tensor<2x3xf16> {graph.name = "h", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf16>},
    %k: tensor<2x3xbf16> {graph.name = "k", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xbf16>},
    %d: tensor<2x3xf64> {graph.name = "d", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf64>})
    -> (tensor<2x2x2xf32> {graph.name = "part", graph.expect =
      dense<[[[6.0, 7.0], [10.0, 11.0]], [[18.0, 19.0], [22.0, 23.0]]]> : tensor<2x2x2xf32>},
        tensor<2x2x2xf32> {graph.name = "every_other", graph.expect =
      dense<[[[1.0, 4.0], [9.0, 12.0]], [[13.0, 16.0], [21.0, 24.0]]]> : tensor<2x2x2xf32>},
        tensor<2x3x4xf32> {graph.name = "backwards", graph.expect =
      dense<[[[4.0, 3.0, 2.0, 1.0], [8.0, 7.0, 6.0, 5.0], [12.0, 11.0, 10.0, 9.0]],
             [[16.0, 15.0, 14.0, 13.0], [20.0, 19.0, 18.0, 17.0], [24.0, 23.0, 22.0, 21.0]]]> : tensor<2x3x4xf32>},
        tensor<2x3x2xf32> {graph.name = "all_backwards", graph.expect =
      dense<[[[24.0, 22.0], [20.0, 18.0], [16.0, 14.0]], [[12.0, 10.0], [8.0, 6.0],
             [4.0, 2.0]]]> : tensor<2x3x2xf32>},
        tensor<1x1x1xf32> {graph.name = "one", graph.expect = dense<[[[19.0]]]> : tensor<1x1x1xf32>},
        tensor<2x0x4xf32> {graph.name = "nothing", graph.expect =
      dense<> : tensor<2x0x4xf32>},
        tensor<41xf32> {graph.name = "reversed", graph.expect =
      dense<[40.0, 39.0, 38.0, 37.0, 36.0, 35.0, 34.0, 33.0, 32.0, 31.0, 30.0, 29.0, 28.0,
             27.0, 26.0, 25.0, 24.0, 23.0, 22.0, 21.0, 20.0, 19.0, 18.0, 17.0, 16.0, 15.0,
             14.0, 13.0, 12.0, 11.0, 10.0, 9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]> : tensor<41xf32>},
        tensor<14xf32> {graph.name = "thirds", graph.expect =
      dense<[1.0, 4.0, 7.0, 10.0, 13.0, 16.0, 19.0, 22.0, 25.0, 28.0, 31.0, 34.0, 37.0,
             40.0]> : tensor<14xf32>},
        tensor<2x2xi1> {graph.name = "truth", graph.expect =
      dense<[[true, false], [false, true]]> : tensor<2x2xi1>},
        tensor<2x2xi8> {graph.name = "bytes", graph.expect =
      dense<[[3, 2], [6, 5]]> : tensor<2x2xi8>},
        tensor<2x2xui8> {graph.name = "unsigned", graph.expect =
      dense<[[3, 2], [6, 5]]> : tensor<2x2xui8>},
        tensor<2x2xi16> {graph.name = "words", graph.expect =
      dense<[[3, 2], [6, 5]]> : tensor<2x2xi16>},
        tensor<2x2xi32> {graph.name = "ints", graph.expect =
      dense<[[3, 2], [6, 5]]> : tensor<2x2xi32>},
        tensor<2x2xi64> {graph.name = "longs", graph.expect =
      dense<[[3, 2], [6, 5]]> : tensor<2x2xi64>},
        tensor<2x2xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[[3.0, 2.0], [6.0, 5.0]]> : tensor<2x2xf16>},
        tensor<2x2xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[[3.0, 2.0], [6.0, 5.0]]> : tensor<2x2xbf16>},
        tensor<2x2xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[[3.0, 2.0], [6.0, 5.0]]> : tensor<2x2xf64>}) {
  // Rows 1 and 2, columns 1 and 2.
  // CHECK: part: reference, unfused, fused agree
  %part = graph.slice %x
    {starts = array<i64: 0, 1, 1>, stops = array<i64: 2, 3, 3>, steps = array<i64: 1, 1, 1>}
    : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>

  // Every second row and every third column.
  // CHECK: every_other: reference, unfused, fused agree
  %every_other = graph.slice %x
    {starts = array<i64: 0, 0, 0>, stops = array<i64: 2, 3, 4>, steps = array<i64: 1, 2, 3>}
    : (tensor<2x3x4xf32>) -> tensor<2x2x2xf32>

  // Columns from the last to the first: the stop stands before column 0.
  // CHECK: backwards: reference, unfused, fused agree
  %backwards = graph.slice %x
    {starts = array<i64: 0, 0, 3>, stops = array<i64: 2, 3, -1>, steps = array<i64: 1, 1, -1>}
    : tensor<2x3x4xf32>

  // All axes at once, the last one by twos.
  // CHECK: all_backwards: reference, unfused, fused agree
  %all_backwards = graph.slice %x
    {starts = array<i64: 1, 2, 3>, stops = array<i64: -1, -1, 0>, steps = array<i64: -1, -1, -2>}
    : (tensor<2x3x4xf32>) -> tensor<2x3x2xf32>

  // A single element, backwards.
  // CHECK: one: reference, unfused, fused agree
  %one = graph.slice %x
    {starts = array<i64: 1, 1, 2>, stops = array<i64: 0, 2, 1>, steps = array<i64: -1, 1, -1>}
    : (tensor<2x3x4xf32>) -> tensor<1x1x1xf32>

  // No element at all.
  // CHECK: nothing: reference, unfused, fused agree
  %nothing = graph.slice %x
    {starts = array<i64: 0, 2, 0>, stops = array<i64: 2, 2, 4>, steps = array<i64: 1, 1, 1>}
    : (tensor<2x3x4xf32>) -> tensor<2x0x4xf32>

  // 41 elements turned round: vectors and a tail.
  // CHECK: reversed: reference, unfused, fused agree
  %reversed = graph.slice %long {starts = array<i64: 40>, stops = array<i64: -1>, steps = array<i64: -1>}
    : tensor<41xf32>

  // Every third of them.
  // CHECK: thirds: reference, unfused, fused agree
  %thirds = graph.slice %long {starts = array<i64: 1>, stops = array<i64: 41>, steps = array<i64: 3>}
    : (tensor<41xf32>) -> tensor<14xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.slice %t {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xi1>) -> tensor<2x2xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.slice %c {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xi8>) -> tensor<2x2xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.slice %u {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xui8>) -> tensor<2x2xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.slice %w {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xi16>) -> tensor<2x2xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.slice %i {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xi32>) -> tensor<2x2xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.slice %l {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xi64>) -> tensor<2x2xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.slice %h {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xf16>) -> tensor<2x2xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.slice %k {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xbf16>) -> tensor<2x2xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.slice %d {starts = array<i64: 0, 2>, stops = array<i64: 2, 0>, steps = array<i64: 1, -1>}
    : (tensor<2x3xf64>) -> tensor<2x2xf64>

  func.return %part, %every_other, %backwards, %all_backwards, %one, %nothing, %reversed, %thirds, %truth, %bytes,
    %unsigned, %words, %ints, %longs, %half, %brain, %double
    : tensor<2x2x2xf32>, tensor<2x2x2xf32>, tensor<2x3x4xf32>, tensor<2x3x2xf32>, tensor<1x1x1xf32>,
      tensor<2x0x4xf32>, tensor<41xf32>, tensor<14xf32>, tensor<2x2xi1>, tensor<2x2xi8>,
      tensor<2x2xui8>, tensor<2x2xi16>, tensor<2x2xi32>, tensor<2x2xi64>, tensor<2x2xf16>,
      tensor<2x2xbf16>, tensor<2x2xf64>
}
