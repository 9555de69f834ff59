// RUN: mini-opt %s -p widen-halves,dce --split-input-file | filecheck %s
// RUN: mini-opt %s -p 'widen-halves{required=true}' --split-input-file | filecheck %s --check-prefix=REQUIRED

// Scores and sums are kept in f32; the result is rounded. Truth values are no floats.
// CHECK-LABEL: @attention
// CHECK-COUNT-3: graph.cast %{{.*}} {to = f32}
// CHECK-NEXT:    %[[WIDE:.*]] = graph.attention %{{.*}}, %{{.*}}, %{{.*}}, %mask {scale = 5.000000e-01 : f64}
// CHECK-SAME:      -> tensor<1x1x2x4xf32> loc("attend")
// CHECK-NEXT:    %[[Y:.*]] = graph.cast %[[WIDE]] {to = f16} : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf16> loc("attend")
// CHECK-NEXT:    func.return %[[Y]]
func.func @attention(%q: tensor<1x1x2x3xf16>, %k: tensor<1x1x5x3xf16>, %v: tensor<1x1x5x4xf16>, %mask: tensor<2x5xi1>)
    -> tensor<1x1x2x4xf16> {
  %0 = graph.attention %q, %k, %v, %mask {scale = 0.5 : f64}
    : (tensor<1x1x2x3xf16>, tensor<1x1x5x3xf16>, tensor<1x1x5x4xf16>, tensor<2x5xi1>) -> tensor<1x1x2x4xf16> loc("attend")
  func.return %0 : tensor<1x1x2x4xf16>
}

// -----

// An LSTM's weights stay known: they are constants of f32, not casts. All three results are rounded.
// CHECK-LABEL: @lstm
// CHECK-COUNT-2: graph.constant dense<{{.*}}> : tensor<1x4x1xf32>
// CHECK-NEXT:    graph.lstm
// CHECK-COUNT-3: {to = bf16}
// CHECK-NEXT:    func.return
func.func @lstm(%x: tensor<2x1x1xbf16>) -> (tensor<2x1x1x1xbf16>, tensor<1x1x1xbf16>, tensor<1x1x1xbf16>) {
  %w = graph.constant dense<1.5> : tensor<1x4x1xbf16>
  %r = graph.constant dense<0.5> : tensor<1x4x1xbf16>
  %y, %h, %c = graph.lstm %x, %w, %r
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}
    : (tensor<2x1x1xbf16>, tensor<1x4x1xbf16>, tensor<1x4x1xbf16>)
    -> (tensor<2x1x1x1xbf16>, tensor<1x1x1xbf16>, tensor<1x1x1xbf16>)
  func.return %y, %h, %c : tensor<2x1x1x1xbf16>, tensor<1x1x1xbf16>, tensor<1x1x1xbf16>
}

// -----

// So it is for the other recurrences.
// CHECK-LABEL: @gru
// CHECK-COUNT-2: graph.constant dense<{{.*}}> : tensor<1x3x1xf32>
// CHECK-NEXT:    graph.gru
// CHECK-COUNT-2: {to = bf16}
// CHECK-NEXT:    func.return
func.func @gru(%x: tensor<2x1x1xbf16>) -> (tensor<2x1x1x1xbf16>, tensor<1x1x1xbf16>) {
  %w = graph.constant dense<1.5> : tensor<1x3x1xbf16>
  %r = graph.constant dense<0.5> : tensor<1x3x1xbf16>
  %y, %h = graph.gru %x, %w, %r
    {hidden = 1 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0>}
    : (tensor<2x1x1xbf16>, tensor<1x3x1xbf16>, tensor<1x3x1xbf16>) -> (tensor<2x1x1x1xbf16>, tensor<1x1x1xbf16>)
  func.return %y, %h : tensor<2x1x1x1xbf16>, tensor<1x1x1xbf16>
}

// -----

// Attention on f32 has code.
// CHECK-LABEL: @single
// CHECK-NEXT:    graph.attention
// CHECK-NEXT:    func.return
func.func @single(%q: tensor<1x1x2x3xf32>, %k: tensor<1x1x5x3xf32>, %v: tensor<1x1x5x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = graph.attention %q, %k, %v {scale = 0.5 : f64}
    : (tensor<1x1x2x3xf32>, tensor<1x1x5x3xf32>, tensor<1x1x5x4xf32>) -> tensor<1x1x2x4xf32>
  func.return %0 : tensor<1x1x2x4xf32>
}

// -----

// Nothing is rounded between convolution, activation and pool. The weight stays one of 16 bits, for the kernel to
// widen; the bias is small.
// CHECK-LABEL: @convolution
// CHECK:         %[[X:.*]] = graph.cast %x {to = f32}
// CHECK-NEXT:    %[[W:.*]] = graph.cast %{{.*}} {to = f32} : (tensor<2x2x1x1xf16>)
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<2.000000e+00> : tensor<2xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %[[X]], %[[W]], %[[B]]
// CHECK-NEXT:    %[[R:.*]] = graph.relu %[[Y]] : tensor<1x4x5x2xf32>
// CHECK-NEXT:    %[[M:.*]] = graph.reduce_mean %[[R]]
// CHECK-NEXT:    %[[H:.*]] = graph.cast %[[M]] {to = f16}
// CHECK-NEXT:    func.return %[[H]]
// What has code on 16-bit floats is left as it is.
// REQUIRED-LABEL: @convolution
// REQUIRED-NOT:     f32
func.func @convolution(%x: tensor<1x4x5x2xf16>) -> tensor<1x1x1x2xf16> {
  %w = graph.weight #graph.blob<"", 0, 8, "d"> : tensor<2x2x1x1xf16>
  %b = graph.constant dense<2.0> : tensor<2xf16>
  %y = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x2xf16>, tensor<2x2x1x1xf16>, tensor<2xf16>) -> tensor<1x4x5x2xf16>
  %r = graph.relu %y : tensor<1x4x5x2xf16>
  %m = graph.reduce_mean %r {axes = array<i64: 1, 2>, keepdims} : (tensor<1x4x5x2xf16>) -> tensor<1x1x1x2xf16>
  func.return %m : tensor<1x1x1x2xf16>
}

// -----

// A product's halves and what else only moves a result keep its digits; constants beside it are widened.
// CHECK-LABEL: @moved
// REQUIRED-LABEL: @moved
// CHECK:         %[[P:.*]] = graph.matmul %{{.*}}, %{{.*}} : (tensor<3x2xf32>, tensor<2x4xf32>) -> tensor<3x4xf32>
// CHECK-NEXT:    %[[A:.*]] = graph.slice %[[P]]
// CHECK:         %[[C:.*]] = graph.concat %[[A]], %{{.*}} : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x3xf32>
// CHECK:         %[[R:.*]] = graph.cast %[[C]] {to = bf16}
// CHECK-NEXT:    func.return %[[R]]
func.func @moved(%x: tensor<3x2xbf16>, %w: tensor<2x4xbf16>) -> tensor<3x3xbf16> {
  %one = graph.constant dense<1.0> : tensor<3x1xbf16>
  %p = graph.matmul %x, %w : (tensor<3x2xbf16>, tensor<2x4xbf16>) -> tensor<3x4xbf16>
  %a = graph.slice %p {starts = array<i64: 0, 0>, stops = array<i64: 3, 2>, steps = array<i64: 1, 1>} : (tensor<3x4xbf16>) -> tensor<3x2xbf16>
  %c = graph.concat %a, %one {axis = 1 : i64} : (tensor<3x2xbf16>, tensor<3x1xbf16>) -> tensor<3x3xbf16>
  func.return %c : tensor<3x3xbf16>
}

// -----

// A key-value cache stays one of 16 bits, so that it can be extended where it is.
// CHECK-LABEL: @cache
// CHECK:         %[[K:.*]] = graph.cast %{{.*}} {to = f16}
// CHECK:         graph.concat %past, %[[K]] {axis = 0 : i64} : (tensor<4x2xf16>, tensor<1x2xf16>) -> tensor<5x2xf16>
func.func @cache(%past: tensor<4x2xf16>, %x: tensor<1x2xf16>) -> tensor<5x2xf16> {
  %k = graph.exp %x : tensor<1x2xf16>
  %p = graph.concat %past, %k {axis = 0 : i64} : (tensor<4x2xf16>, tensor<1x2xf16>) -> tensor<5x2xf16>
  func.return %p : tensor<5x2xf16>
}

// -----

// A cast of the model rounds; a loose one rounds what is stored only.
// CHECK-LABEL: @casts
// CHECK:         %[[N:.*]] = graph.cast %x {to = f16}
// CHECK-NEXT:    %[[W:.*]] = graph.cast %[[N]] {to = f32}
// CHECK-NEXT:    graph.exp %[[W]] : tensor<4xf32>
// CHECK:         graph.exp %x : tensor<4xf32>
func.func @casts(%x: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf16>) {
  %0 = graph.cast %x {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = graph.exp %0 : tensor<4xf16>
  %2 = graph.cast %x {to = f16, loose} : (tensor<4xf32>) -> tensor<4xf16>
  %3 = graph.exp %2 : tensor<4xf16>
  func.return %1, %3 : tensor<4xf16>, tensor<4xf16>
}
