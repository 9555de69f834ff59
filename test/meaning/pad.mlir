// RUN: mini-opt %s -t check | filecheck %s

func.func @main(
    %x: tensor<2x3xf32> {graph.name = "x", graph.value =
      dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>},
    %s: tensor<3xf32> {graph.name = "s", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>},
    %o: tensor<1xf32> {graph.name = "o", graph.value = dense<[7.0]> : tensor<1xf32>},
    %z: tensor<0x2xf32> {graph.name = "z", graph.value = dense<> : tensor<0x2xf32>},
    %long: tensor<37xf32> {graph.name = "long", graph.value =
      dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0,
             15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0, 27.0,
             28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0]> : tensor<37xf32>},
    %t: tensor<3xi1> {graph.name = "t", graph.value = dense<[true, false, true]> : tensor<3xi1>},
    %c: tensor<3xi8> {graph.name = "c", graph.value = dense<[1, 2, 3]> : tensor<3xi8>},
    %u: tensor<3xui8> {graph.name = "u", graph.value = dense<[1, 2, 3]> : tensor<3xui8>},
    %w: tensor<3xi16> {graph.name = "w", graph.value = dense<[1, 2, 3]> : tensor<3xi16>},
    %i: tensor<3xi32> {graph.name = "i", graph.value = dense<[1, 2, 3]> : tensor<3xi32>},
    %l: tensor<3xi64> {graph.name = "l", graph.value = dense<[1, 2, 3]> : tensor<3xi64>},
    %h: tensor<3xf16> {graph.name = "h", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf16>},
    %k: tensor<3xbf16> {graph.name = "k", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xbf16>},
    %d: tensor<3xf64> {graph.name = "d", graph.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>},
    %neg: tensor<1xi32> {graph.name = "neg", graph.value = dense<[5]> : tensor<1xi32>})
    -> (tensor<3x6xf32> {graph.name = "constant", graph.expect =
      dense<[[9.0, 9.0, 9.0, 9.0, 9.0, 9.0], [9.0, 9.0, 1.0, 2.0, 3.0, 9.0],
             [9.0, 9.0, 4.0, 5.0, 6.0, 9.0]]> : tensor<3x6xf32>},
        tensor<3x6xf32> {graph.name = "reflect", graph.expect =
      dense<[[6.0, 5.0, 4.0, 5.0, 6.0, 5.0], [3.0, 2.0, 1.0, 2.0, 3.0, 2.0],
             [6.0, 5.0, 4.0, 5.0, 6.0, 5.0]]> : tensor<3x6xf32>},
        tensor<3x6xf32> {graph.name = "edge", graph.expect =
      dense<[[1.0, 1.0, 1.0, 2.0, 3.0, 3.0], [1.0, 1.0, 1.0, 2.0, 3.0, 3.0],
             [4.0, 4.0, 4.0, 5.0, 6.0, 6.0]]> : tensor<3x6xf32>},
        tensor<3x6xf32> {graph.name = "wrap", graph.expect =
      dense<[[5.0, 6.0, 4.0, 5.0, 6.0, 4.0], [2.0, 3.0, 1.0, 2.0, 3.0, 1.0],
             [5.0, 6.0, 4.0, 5.0, 6.0, 4.0]]> : tensor<3x6xf32>},
        tensor<15xf32> {graph.name = "reflect_far", graph.expect =
      dense<[2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0, 2.0]> : tensor<15xf32>},
        tensor<11xf32> {graph.name = "wrap_far", graph.expect =
      dense<[3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]> : tensor<11xf32>},
        tensor<11xf32> {graph.name = "edge_far", graph.expect =
      dense<[1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 3.0, 3.0, 3.0, 3.0, 3.0]> : tensor<11xf32>},
        tensor<4xf32> {graph.name = "reflect_one", graph.expect =
      dense<7.0> : tensor<4xf32>},
        tensor<3xf32> {graph.name = "none", graph.expect = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>},
        tensor<5xf32> {graph.name = "special", graph.expect =
      dense<[0xFF800000, 1.0, 2.0, 3.0, 0xFF800000]> : tensor<5xf32>},
        tensor<2x2xf32> {graph.name = "of_nothing", graph.expect =
      dense<4.0> : tensor<2x2xf32>},
        tensor<41xf32> {graph.name = "tail", graph.expect =
      dense<[0.0, 0.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0, 12.0,
             13.0, 14.0, 15.0, 16.0, 17.0, 18.0, 19.0, 20.0, 21.0, 22.0, 23.0, 24.0, 25.0,
             26.0, 27.0, 28.0, 29.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 0.0]> : tensor<41xf32>},
        tensor<6xi1> {graph.name = "truth", graph.expect =
      dense<[true, true, false, true, true, true]> : tensor<6xi1>},
        tensor<6xi8> {graph.name = "bytes", graph.expect = dense<[1, 1, 2, 3, 1, 1]> : tensor<6xi8>},
        tensor<6xui8> {graph.name = "unsigned", graph.expect =
      dense<[1, 1, 2, 3, 1, 1]> : tensor<6xui8>},
        tensor<6xi16> {graph.name = "words", graph.expect =
      dense<[1, 1, 2, 3, 1, 1]> : tensor<6xi16>},
        tensor<6xi32> {graph.name = "ints", graph.expect =
      dense<[1, 1, 2, 3, 1, 1]> : tensor<6xi32>},
        tensor<6xi64> {graph.name = "longs", graph.expect =
      dense<[1, 1, 2, 3, 1, 1]> : tensor<6xi64>},
        tensor<6xf16> {graph.name = "half", graph.tolerance = 0.001 : f64, graph.expect =
      dense<[1.0, 1.0, 2.0, 3.0, 1.0, 1.0]> : tensor<6xf16>},
        tensor<6xbf16> {graph.name = "brain", graph.tolerance = 0.01 : f64, graph.expect =
      dense<[1.0, 1.0, 2.0, 3.0, 1.0, 1.0]> : tensor<6xbf16>},
        tensor<6xf64> {graph.name = "double", graph.tolerance = 1.0e-12 : f64, graph.expect =
      dense<[1.0, 1.0, 2.0, 3.0, 1.0, 1.0]> : tensor<6xf64>},
        tensor<3xi32> {graph.name = "negative", graph.expect = dense<[-3, 5, -3]> : tensor<3xi32>}) {
  // A row above, two columns on the left, one on the right, filled with 9.
  // CHECK: constant: reference, unfused, fused agree
  %constant = graph.pad %x
    {low = array<i64: 1, 2>, high = array<i64: 0, 1>, mode = "constant", value = 9.0 : f64}
    : (tensor<2x3xf32>) -> tensor<3x6xf32>

  // Mirrored at the outermost element, which isn't repeated.
  // CHECK: reflect: reference, unfused, fused agree
  %reflect = graph.pad %x
    {low = array<i64: 1, 2>, high = array<i64: 0, 1>, mode = "reflect", value = 0.0 : f64}
    : (tensor<2x3xf32>) -> tensor<3x6xf32>

  // The outermost element repeated.
  // CHECK: edge: reference, unfused, fused agree
  %edge = graph.pad %x {low = array<i64: 1, 2>, high = array<i64: 0, 1>, mode = "edge", value = 0.0 : f64}
    : (tensor<2x3xf32>) -> tensor<3x6xf32>

  // From the other end.
  // CHECK: wrap: reference, unfused, fused agree
  %wrap = graph.pad %x {low = array<i64: 1, 2>, high = array<i64: 0, 1>, mode = "wrap", value = 0.0 : f64}
    : (tensor<2x3xf32>) -> tensor<3x6xf32>

  // Reflected more than once: 7 elements to the left of 3.
  // CHECK: reflect_far: reference, unfused, fused agree
  %reflect_far = graph.pad %s {low = array<i64: 7>, high = array<i64: 5>, mode = "reflect", value = 0.0 : f64}
    : (tensor<3xf32>) -> tensor<15xf32>

  // Around more than once.
  // CHECK: wrap_far: reference, unfused, fused agree
  %wrap_far = graph.pad %s {low = array<i64: 4>, high = array<i64: 4>, mode = "wrap", value = 0.0 : f64}
    : (tensor<3xf32>) -> tensor<11xf32>

  // More padding than elements.
  // CHECK: edge_far: reference, unfused, fused agree
  %edge_far = graph.pad %s {low = array<i64: 4>, high = array<i64: 4>, mode = "edge", value = 0.0 : f64}
    : (tensor<3xf32>) -> tensor<11xf32>

  // A single element is its own mirror image.
  // CHECK: reflect_one: reference, unfused, fused agree
  %reflect_one = graph.pad %o {low = array<i64: 2>, high = array<i64: 1>, mode = "reflect", value = 0.0 : f64}
    : (tensor<1xf32>) -> tensor<4xf32>

  // No padding at all.
  // CHECK: none: reference, unfused, fused agree
  %none = graph.pad %s {low = array<i64: 0>, high = array<i64: 0>, mode = "constant", value = 5.0 : f64}
    : tensor<3xf32>

  // Padding may be an infinity.
  // CHECK: special: reference, unfused, fused agree
  %special = graph.pad %s
    {low = array<i64: 1>, high = array<i64: 1>, mode = "constant", value = 0xFFF0000000000000 : f64}
    : (tensor<3xf32>) -> tensor<5xf32>

  // Nothing with padding is padding.
  // CHECK: of_nothing: reference, unfused, fused agree
  %of_nothing = graph.pad %z
    {low = array<i64: 1, 0>, high = array<i64: 1, 0>, mode = "constant", value = 4.0 : f64}
    : (tensor<0x2xf32>) -> tensor<2x2xf32>

  // 37 elements: vectors and tails.
  // CHECK: tail: reference, unfused, fused agree
  %tail = graph.pad %long {low = array<i64: 3>, high = array<i64: 1>, mode = "constant", value = 0.0 : f64}
    : (tensor<37xf32>) -> tensor<41xf32>

  // Of type i1.
  // CHECK: truth: reference, unfused, fused agree
  %truth = graph.pad %t {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xi1>) -> tensor<6xi1>

  // Of type i8.
  // CHECK: bytes: reference, unfused, fused agree
  %bytes = graph.pad %c {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xi8>) -> tensor<6xi8>

  // Of type ui8.
  // CHECK: unsigned: reference, unfused, fused agree
  %unsigned = graph.pad %u {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xui8>) -> tensor<6xui8>

  // Of type i16.
  // CHECK: words: reference, unfused, fused agree
  %words = graph.pad %w {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xi16>) -> tensor<6xi16>

  // Of type i32.
  // CHECK: ints: reference, unfused, fused agree
  %ints = graph.pad %i {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xi32>) -> tensor<6xi32>

  // Of type i64.
  // CHECK: longs: reference, unfused, fused agree
  %longs = graph.pad %l {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xi64>) -> tensor<6xi64>

  // Of type f16.
  // CHECK: half: reference, unfused, fused agree
  %half = graph.pad %h {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xf16>) -> tensor<6xf16>

  // Of type bf16.
  // CHECK: brain: reference, unfused, fused agree
  %brain = graph.pad %k {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xbf16>) -> tensor<6xbf16>

  // Of type f64.
  // CHECK: double: reference, unfused, fused agree
  %double = graph.pad %d {low = array<i64: 1>, high = array<i64: 2>, mode = "constant", value = 1.0 : f64}
    : (tensor<3xf64>) -> tensor<6xf64>

  // A negative number around integers.
  // CHECK: negative: reference, unfused, fused agree
  %negative = graph.pad %neg
    {low = array<i64: 1>, high = array<i64: 1>, mode = "constant", value = -3.0 : f64}
    : (tensor<1xi32>) -> tensor<3xi32>

  func.return %constant, %reflect, %edge, %wrap, %reflect_far, %wrap_far, %edge_far, %reflect_one, %none,
    %special, %of_nothing, %tail, %truth, %bytes, %unsigned, %words, %ints, %longs, %half, %brain,
    %double, %negative
    : tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<3x6xf32>, tensor<15xf32>, tensor<11xf32>,
      tensor<11xf32>, tensor<4xf32>, tensor<3xf32>, tensor<5xf32>, tensor<2x2xf32>, tensor<41xf32>,
      tensor<6xi1>, tensor<6xi8>, tensor<6xui8>, tensor<6xi16>, tensor<6xi32>, tensor<6xi64>,
      tensor<6xf16>, tensor<6xbf16>, tensor<6xf64>, tensor<3xi32>
}
