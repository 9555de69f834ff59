// RUN: mini-opt %s -p recompose-quantized --split-input-file | filecheck %s

// A product of integers, minus the zero point times the sums of the weights; both scales and the result's are one
// factor, and relu is what the type ends at anyway.
// CHECK-LABEL: @matmul
// CHECK:         %[[Q:.*]] = graph.quantize %x
// CHECK:         %[[SUMS:.*]] = graph.matmul %[[Q]], %w : (tensor<2x8xui8>, tensor<8x4xi8>) -> tensor<2x4xi32>
// CHECK-NEXT:    %[[ZERO:.*]] = graph.constant dense<24> : tensor<1x4xi32>
// CHECK-NEXT:    %[[CENTRED:.*]] = graph.sub %[[SUMS]], %[[ZERO]]
// CHECK-NEXT:    %[[FLOATS:.*]] = graph.cast %[[CENTRED]] {to = f32}
// CHECK-NEXT:    %[[SCALE:.*]] = graph.constant dense<{{\[\[}}5.000000e-01, 2.500000e-01, 5.000000e-01, 1.000000e+00]]>
// CHECK-NEXT:    %[[SCALED:.*]] = graph.mul %[[FLOATS]], %[[SCALE]]
// CHECK-NEXT:    %[[ONE:.*]] = graph.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NEXT:    %[[Y:.*]] = graph.quantize %[[SCALED]], %[[ONE]], %o {to = ui8}
// CHECK-NEXT:    func.return %[[Y]]
func.func @matmul(%x: tensor<2x8xf32>) -> tensor<2x4xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %o = graph.constant dense<0> : tensor<ui8>
  %w = graph.constant dense<1> : tensor<8x4xi8>
  %sw = graph.constant dense<[[0.5, 0.25, 0.5, 1.0]]> : tensor<1x4xf32>
  %q = graph.quantize %x, %s, %z {to = ui8} : (tensor<2x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x8xui8>
  %d = graph.dequantize %q, %s, %z : (tensor<2x8xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x8xf32>
  %dw = graph.dequantize %w, %sw : (tensor<8x4xi8>, tensor<1x4xf32>) -> tensor<8x4xf32>
  %m = graph.matmul %d, %dw : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %r = graph.relu %m : tensor<2x4xf32>
  %y = graph.quantize %r, %s, %o {to = ui8} : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  func.return %y : tensor<2x4xui8>
}

// -----

// A convolution pads with the zero point; the bias, whose unit is the product of the scales, is one of integers.
// CHECK-LABEL: @conv
// CHECK:         %[[BIAS:.*]] = graph.constant dense<[-8, -7]> : tensor<2xi32>
// CHECK:         graph.conv %x, %w, %[[BIAS]] {{.*}} pad_value = 3 : i64
// CHECK-SAME:      (tensor<1x1x4x4xui8>, tensor<2x1x3x3xi8>, tensor<2xi32>) -> tensor<1x2x4x4xi32>
// CHECK-DAG:     %[[SCALE:.*]] = graph.constant {{.*}}1.250000e-01]], {{.*}}2.500000e-01]]]> : tensor<2x1x1xf32>
// CHECK-DAG:     %[[FLOATS:.*]] = graph.cast
// CHECK-NEXT:    graph.mul %[[FLOATS]], %[[SCALE]]
// CHECK-NEXT:    func.return
func.func @conv(%x: tensor<1x1x4x4xui8>) -> tensor<1x2x4x4xf32> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %w = graph.constant dense<1> : tensor<2x1x3x3xi8>
  %sw = graph.constant dense<[[[[0.25]]], [[[0.5]]]]> : tensor<2x1x1x1xf32>
  %b = graph.constant dense<[19, 20]> : tensor<2xi32>
  %sb = graph.constant dense<[0.125, 0.25]> : tensor<2xf32>
  %d = graph.dequantize %x, %s, %z : (tensor<1x1x4x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<1x1x4x4xf32>
  %dw = graph.dequantize %w, %sw : (tensor<2x1x3x3xi8>, tensor<2x1x1x1xf32>) -> tensor<2x1x3x3xf32>
  %db = graph.dequantize %b, %sb : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
  %y = graph.conv %d, %dw, %db {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>,
    dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NCHW"}
    : (tensor<1x1x4x4xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x4x4xf32>
  func.return %y : tensor<1x2x4x4xf32>
}

// -----

// A product of i32 that were bytes; nothing is known of either, so that both sums are computed.
// CHECK-LABEL: @integers
// CHECK:         %[[SUMS:.*]] = graph.matmul %a, %b : (tensor<2x8xui8>, tensor<8x4xi8>) -> tensor<2x4xi32>
// CHECK:         graph.reduce_sum {{.*}} {axes = array<i64: 0>, keepdims}
// CHECK:         graph.reduce_sum {{.*}} {axes = array<i64: 1>, keepdims}
func.func @integers(%a: tensor<2x8xui8>, %b: tensor<8x4xi8>, %za: tensor<i32>, %zb: tensor<4xi32>) -> tensor<2x4xi32> {
  %0 = graph.cast %a {to = i32} : (tensor<2x8xui8>) -> tensor<2x8xi32>
  %1 = graph.sub %0, %za : (tensor<2x8xi32>, tensor<i32>) -> tensor<2x8xi32>
  %2 = graph.cast %b {to = i32} : (tensor<8x4xi8>) -> tensor<8x4xi32>
  %3 = graph.sub %2, %zb : (tensor<8x4xi32>, tensor<4xi32>) -> tensor<8x4xi32>
  %y = graph.matmul %1, %3 : (tensor<2x8xi32>, tensor<8x4xi32>) -> tensor<2x4xi32>
  func.return %y : tensor<2x4xi32>
}

// -----

// A scale that varies along the sums has no place behind them.
// CHECK-LABEL: @scale_along_the_sums
// CHECK:         graph.matmul %d, %dw : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
func.func @scale_along_the_sums(%x: tensor<2x8xui8>, %w: tensor<8x4xi8>, %s: tensor<f32>, %rows: tensor<8x1xf32>)
    -> tensor<2x4xf32> {
  %d = graph.dequantize %x, %s : (tensor<2x8xui8>, tensor<f32>) -> tensor<2x8xf32>
  %dw = graph.dequantize %w, %rows : (tensor<8x4xi8>, tensor<8x1xf32>) -> tensor<8x4xf32>
  %y = graph.matmul %d, %dw : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  func.return %y : tensor<2x4xf32>
}

// -----

// What moves numbers, and a max pool, moves quantised ones; the same scale on both ends is nothing.
// CHECK-LABEL: @moves
// CHECK-NEXT:    %[[P:.*]] = graph.max_pool %x {{.*}} : (tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xui8>
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[P]]
// CHECK-NEXT:    func.return %[[T]]
func.func @moves(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x2x2xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %d = graph.dequantize %x, %s : (tensor<1x2x4x4xui8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %p = graph.max_pool %d {kernel = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>,
    dilations = array<i64: 1, 1>, layout = "NCHW"} : (tensor<1x2x4x4xf32>) -> tensor<1x2x2x2xf32>
  %t = graph.transpose %p {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x2x2x2xf32>) -> tensor<1x2x2x2xf32>
  %q = graph.quantize %t, %s {to = ui8} : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x2x2x2xui8>
  func.return %q : tensor<1x2x2x2xui8>
}

// -----

// A scale below 0 turns the order of numbers around.
// CHECK-LABEL: @negative_scale
// CHECK:         graph.dequantize %x
// CHECK-NEXT:    graph.max_pool {{.*}} : tensor<1x2x4x4xf32>
func.func @negative_scale(%x: tensor<1x2x4x4xui8>) -> tensor<1x2x4x4xf32> {
  %s = graph.constant dense<-0.5> : tensor<f32>
  %d = graph.dequantize %x, %s : (tensor<1x2x4x4xui8>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %p = graph.max_pool %d {kernel = array<i64: 1, 1>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>,
    dilations = array<i64: 1, 1>, layout = "NCHW"} : tensor<1x2x4x4xf32>
  func.return %p : tensor<1x2x4x4xf32>
}

// -----

// One scale for two parts: each part is quantised, and bytes are put together.
// CHECK-LABEL: @concat
// CHECK-DAG:     %[[A:.*]] = graph.quantize %x
// CHECK-DAG:     %[[B:.*]] = graph.quantize %y
// CHECK:         %[[C:.*]] = graph.concat %[[A]], %[[B]] {{.*}} -> tensor<2x8xui8>
// CHECK-NEXT:    func.return %[[C]]
func.func @concat(%x: tensor<2x4xf32>, %y: tensor<2x4xf32>, %s: tensor<f32>) -> tensor<2x8xui8> {
  %c = graph.concat %x, %y {axis = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x8xf32>
  %q = graph.quantize %c, %s {to = ui8} : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xui8>
  func.return %q : tensor<2x8xui8>
}

// -----

// Signed bytes that are only dequantised become unsigned ones.
// CHECK-LABEL: @signed
// CHECK:         graph.constant dense<129> : tensor<ui8>
// CHECK:         graph.quantize {{.*}} {to = ui8}
// CHECK:         graph.dequantize {{.*}} (tensor<4xui8>, tensor<f32>, tensor<ui8>)
func.func @signed(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %z = graph.constant dense<1> : tensor<i8>
  %q = graph.quantize %x, %s, %z {to = i8} : (tensor<4xf32>, tensor<f32>, tensor<i8>) -> tensor<4xi8>
  %d = graph.dequantize %q, %s, %z : (tensor<4xi8>, tensor<f32>, tensor<i8>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// -----

// Who reads them stays where it is, behind a scale that is made later.
// CHECK-LABEL: @signed_and_read_later
// CHECK:         graph.quantize {{.*}} {to = ui8}
// CHECK:         %[[S:.*]] = graph.abs %s
// CHECK:         graph.dequantize %{{.*}}, %[[S]], %{{.*}} : (tensor<4xui8>
func.func @signed_and_read_later(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %q = graph.quantize %x, %s {to = i8} : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>
  %t = graph.abs %s : (tensor<f32>) -> tensor<f32>
  %d = graph.dequantize %q, %t : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>
  func.return %d : tensor<4xf32>
}

// -----

// What is rounded for an addition stays in floats; of two products that are added the later one is kept as bytes.
// CHECK-LABEL: @added
// CHECK:         %[[A:.*]] = graph.matmul %x, %w
// CHECK:         %[[ROUND:.*]] = graph.round
// CHECK-NEXT:    %[[CLIP:.*]] = graph.clip %[[ROUND]] {min = -3.000000e+00 : f64, max = 2.520000e+02 : f64}
// CHECK:         %[[B:.*]] = graph.matmul %y, %w
// CHECK:         %[[Q:.*]] = graph.quantize
// CHECK-DAG:     graph.dequantize %[[Q]]
// CHECK-DAG:     graph.mul %[[CLIP]]
// CHECK:         graph.add
func.func @added(%x: tensor<2x8xui8>, %y: tensor<2x8xui8>) -> tensor<2x4xui8> {
  %s = graph.constant dense<0.5> : tensor<f32>
  %z = graph.constant dense<3> : tensor<ui8>
  %w = graph.constant dense<1> : tensor<8x4xi8>
  %dx = graph.dequantize %x, %s : (tensor<2x8xui8>, tensor<f32>) -> tensor<2x8xf32>
  %dy = graph.dequantize %y, %s : (tensor<2x8xui8>, tensor<f32>) -> tensor<2x8xf32>
  %dw = graph.dequantize %w, %s : (tensor<8x4xi8>, tensor<f32>) -> tensor<8x4xf32>
  %a = graph.matmul %dx, %dw : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %qa = graph.quantize %a, %s, %z {to = ui8} : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  %da = graph.dequantize %qa, %s, %z : (tensor<2x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x4xf32>
  %b = graph.matmul %dy, %dw : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %qb = graph.quantize %b, %s, %z {to = ui8} : (tensor<2x4xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x4xui8>
  %db = graph.dequantize %qb, %s, %z : (tensor<2x4xui8>, tensor<f32>, tensor<ui8>) -> tensor<2x4xf32>
  %c = graph.add %da, %db : tensor<2x4xf32>
  %q = graph.quantize %c, %s {to = ui8} : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xui8>
  func.return %q : tensor<2x4xui8>
}

// -----

// Weights stay bytes when they are moved.
// CHECK-LABEL: @weights
// CHECK:         %[[W:.*]] = graph.constant {{.*}} : tensor<3x2xi8>
// CHECK:         graph.dequantize %[[W]], %{{.*}} : (tensor<3x2xi8>, tensor<1x2xf32>) -> tensor<3x2xf32>
func.func @weights() -> tensor<3x2xf32> {
  %w = graph.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi8>
  %s = graph.constant dense<[[0.5], [0.25]]> : tensor<2x1xf32>
  %d = graph.dequantize %w, %s : (tensor<2x3xi8>, tensor<2x1xf32>) -> tensor<2x3xf32>
  %t = graph.transpose %d {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  func.return %t : tensor<3x2xf32>
}
