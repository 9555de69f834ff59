// RUN: mini-opt %s -p widen-halves --split-input-file | filecheck %s

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
