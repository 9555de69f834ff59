// RUN: mini-opt %s -t check --split-input-file --verify-diagnostics

// What has no meaning, or no code, says so: node, op and fact.

// Attention to nothing.
func.func @main(
    %q: tensor<1x1x1x2xf32> {graph.name = "q", graph.value = dense<1.0> : tensor<1x1x1x2xf32>},
    %k: tensor<1x1x0x2xf32> {graph.name = "k", graph.value = dense<> : tensor<1x1x0x2xf32>})
    -> (tensor<1x1x1x2xf32> {graph.name = "y", graph.expect = dense<0.0> : tensor<1x1x1x2xf32>}) {
  // expected-error @below {{/attend (graph.attention): 0 keys of 2 elements leave nothing to attend to}}
  %y = graph.attention %q, %k, %k {scale = 1.0 : f64}
    : (tensor<1x1x1x2xf32>, tensor<1x1x0x2xf32>, tensor<1x1x0x2xf32>) -> tensor<1x1x1x2xf32> loc("/attend")
  func.return %y : tensor<1x1x1x2xf32>
}

// -----

// A packed weight that is an input: packing is undone at compile time or never.
func.func @main(%x: tensor<1x1x2xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<1x1x2xf32>})
    -> (tensor<1x2xf32> {graph.name = "y", graph.expect = dense<1.0> : tensor<1x2xf32>}) {
  // expected-error @below {{/packed (graph.unpack): there is no code for single elements of this op}}
  %y = graph.unpack %x {packing = #kernel.packing<"panels", {nr = 2}>, shape = array<i64: 1, 2>}
    : (tensor<1x1x2xf32>) -> tensor<1x2xf32> loc("/packed")
  func.return %y : tensor<1x2xf32>
}

// -----

// Truth values are no numbers.
func.func @main(%x: tensor<2x2xi1> {graph.name = "x", graph.value = dense<true> : tensor<2x2xi1>})
    -> (tensor<2x2xi1> {graph.name = "y", graph.expect = dense<true> : tensor<2x2xi1>}) {
  // expected-error @below {{booleans (i1) are not numbers}}
  %y = graph.matmul %x, %x : tensor<2x2xi1>
  func.return %y : tensor<2x2xi1>
}

// -----

// There are no windows over truth values either.
func.func @main(%x: tensor<1x1x2xi1> {graph.name = "x", graph.value = dense<true> : tensor<1x1x2xi1>})
    -> (tensor<1x1x2xi1> {graph.name = "y", graph.expect = dense<true> : tensor<1x1x2xi1>}) {
  // expected-error @below {{booleans (i1) are not numbers}}
  %y = graph.max_pool %x
    {kernel = array<i64: 1>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>,
     layout = "NCHW"} : tensor<1x1x2xi1>
  func.return %y : tensor<1x1x2xi1>
}

// -----

// Nor sums of them.
func.func @main(
    %x: tensor<2xi1> {graph.name = "x", graph.value = dense<true> : tensor<2xi1>},
    %i: tensor<2xi64> {graph.name = "i", graph.value = dense<0> : tensor<2xi64>})
    -> (tensor<2xi1> {graph.name = "y", graph.expect = dense<true> : tensor<2xi1>}) {
  // expected-error @below {{booleans (i1) are not numbers}}
  %y = graph.scatter_elements %x, %i, %x {axis = 0 : i64, reduction = "add"}
    : (tensor<2xi1>, tensor<2xi64>, tensor<2xi1>) -> tensor<2xi1>
  func.return %y : tensor<2xi1>
}

// -----

// A type that numpy doesn't have.
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<2xf32>})
    -> (tensor<2xi7> {graph.name = "y", graph.expect = dense<1> : tensor<2xi7>}) {
  // expected-error @below {{i7 is not an element type of the graph dialect}}
  %y = graph.cast %x {to = i7} : (tensor<2xf32>) -> tensor<2xi7>
  func.return %y : tensor<2xi7>
}

// -----

// Floats are quantised to 16 bits at most.
func.func @main(
    %x: tensor<2xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<2xf32>},
    %s: tensor<f32> {graph.name = "s", graph.value = dense<1.0> : tensor<f32>})
    -> (tensor<2xi32> {graph.name = "y", graph.expect = dense<1> : tensor<2xi32>}) {
  // expected-error @below {{numbers are quantised to at most 16 bits, not 32}}
  %y = graph.quantize %x, %s {to = i32} : (tensor<2xf32>, tensor<f32>) -> tensor<2xi32>
  func.return %y : tensor<2xi32>
}

// -----

// To integers.
func.func @main(
    %x: tensor<2xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<2xf32>},
    %s: tensor<f32> {graph.name = "s", graph.value = dense<1.0> : tensor<f32>})
    -> (tensor<2xf16> {graph.name = "y", graph.expect = dense<1.0> : tensor<2xf16>}) {
  // expected-error @below {{quantised numbers are integers, got f16}}
  %y = graph.quantize %x, %s {to = f16} : (tensor<2xf32>, tensor<f32>) -> tensor<2xf16>
  func.return %y : tensor<2xf16>
}

// -----

// With a zero point of their type.
func.func @main(
    %x: tensor<2xi8> {graph.name = "x", graph.value = dense<1> : tensor<2xi8>},
    %s: tensor<f32> {graph.name = "s", graph.value = dense<1.0> : tensor<f32>},
    %z: tensor<ui8> {graph.name = "z", graph.value = dense<1> : tensor<ui8>})
    -> (tensor<2xf32> {graph.name = "y", graph.expect = dense<1.0> : tensor<2xf32>}) {
  // expected-error @below {{a zero point of type ui8 for numbers of type i8}}
  %y = graph.dequantize %x, %s, %z : (tensor<2xi8>, tensor<f32>, tensor<ui8>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// And no more scales than there are numbers.
func.func @main(
    %x: tensor<2xi8> {graph.name = "x", graph.value = dense<1> : tensor<2xi8>},
    %s: tensor<3x1xf32> {graph.name = "s", graph.value = dense<1.0> : tensor<3x1xf32>})
    -> (tensor<2xf32> {graph.name = "y", graph.expect = dense<1.0> : tensor<2xf32>}) {
  // expected-error @below {{a scale or zero point makes [3, 2] of [2]}}
  %y = graph.dequantize %x, %s : (tensor<2xi8>, tensor<3x1xf32>) -> tensor<2xf32>
  func.return %y : tensor<2xf32>
}

// -----

// A result that isn't what was expected is told with all that was found.
// expected-error @unknown {{y, reference: [2.0], expected [3.0]; y, unfused: [2.0], expected [3.0]; y, fused: [2.0], expected [3.0]}}
func.func @main(%x: tensor<1xf32> {graph.name = "x", graph.value = dense<2.0> : tensor<1xf32>})
    -> (tensor<1xf32> {graph.name = "y", graph.expect = dense<3.0> : tensor<1xf32>}) {
  %y = graph.relu %x : tensor<1xf32>
  func.return %y : tensor<1xf32>
}

// -----

// Floats of 8 bits are for storage.
func.func @main(%x: tensor<2xf8E4M3FN> {graph.name = "x", graph.value = dense<1.0> : tensor<2xf8E4M3FN>})
    -> (tensor<2xf8E4M3FN> {graph.name = "y", graph.expect = dense<2.0> : tensor<2xf8E4M3FN>}) {
  // expected-error @below {{there is no arithmetic on f8E4M3FN, which is for storage: cast it first}}
  %y = graph.add %x, %x : tensor<2xf8E4M3FN>
  func.return %y : tensor<2xf8E4M3FN>
}

// -----

// Integers of 4 bits too: their bits are no truth values either.
func.func @main(%x: tensor<2xi4> {graph.name = "x", graph.value = dense<1> : tensor<2xi4>})
    -> (tensor<2xi4> {graph.name = "y", graph.expect = dense<1> : tensor<2xi4>}) {
  // expected-error @below {{there is no arithmetic on i4, which is for storage: cast it first}}
  %y = graph.and %x, %x : tensor<2xi4>
  func.return %y : tensor<2xi4>
}

// -----

// Bits of one width are no element of another.
func.func @main(%x: tensor<2xf32> {graph.name = "x", graph.value = dense<1.0> : tensor<2xf32>})
    -> (tensor<2xi16> {graph.name = "y", graph.expect = dense<1> : tensor<2xi16>}) {
  // expected-error @below {{f32 has other bits than i16}}
  %y = graph.bitcast %x {to = i16} : (tensor<2xf32>) -> tensor<2xi16>
  func.return %y : tensor<2xi16>
}

// -----

// Packed elements fill the bytes they are in.
func.func @main(%x: tensor<2xui8> {graph.name = "x", graph.value = dense<1> : tensor<2xui8>})
    -> (tensor<6xi4> {graph.name = "y", graph.expect = dense<1> : tensor<6xi4>}) {
  // expected-error @below {{tensor<6xi4> is packed in 3 bytes, got tensor<2xui8>}}
  %y = graph.unpack_bits %x {to = i4, shape = array<i64: 6>} : (tensor<2xui8>) -> tensor<6xi4>
  func.return %y : tensor<6xi4>
}

// -----

// What is an error where it is run.
func.func @main(%x: tensor<1xf32> {graph.name = "x", graph.value = dense<2.0> : tensor<1xf32>})
    -> (tensor<1xf32> {graph.name = "y", graph.expect = dense<2.0> : tensor<1xf32>}) {
  // expected-error @below {{If_0 (If): the other side was taken}}
  %z = graph.fail {message = "If_0 (If): the other side was taken"} : tensor<1xf32> loc("If_0")
  %y = graph.add %x, %z : tensor<1xf32>
  func.return %y : tensor<1xf32>
}
