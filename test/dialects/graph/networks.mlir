// Attention, recurrences and packed weights keep their form in text; a recurrence says which of its operands are present.
// RUN: mini-opt %s | mini-opt | filecheck %s

func.func @attention(%q: tensor<1x8x6x4xf32>, %k: tensor<1x2x6x4xf32>, %v: tensor<1x2x6x5xf32>, %m: tensor<6x6xi1>) {
  // CHECK: graph.attention %q, %k, %v {scale = 5.000000e-01 : f64, causal} : (tensor<1x8x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x5xf32>) -> tensor<1x8x6x5xf32>
  // CHECK: graph.attention %q, %k, %v, %m {scale = 5.000000e-01 : f64} : (tensor<1x8x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x5xf32>, tensor<6x6xi1>) -> tensor<1x8x6x5xf32>
  %0 = graph.attention %q, %k, %v {scale = 0.5, causal} : (tensor<1x8x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x5xf32>) -> tensor<1x8x6x5xf32>
  %1 = graph.attention %q, %k, %v, %m {scale = 0.5} : (tensor<1x8x6x4xf32>, tensor<1x2x6x4xf32>, tensor<1x2x6x5xf32>, tensor<6x6xi1>) -> tensor<1x8x6x5xf32>
  func.return
}

func.func @lstm(%x: tensor<7x1x3xf32>, %w: tensor<1x16x3xf32>, %r: tensor<1x16x4xf32>, %c: tensor<1x1x4xf32>) {
  // CHECK: graph.lstm %x, %w, %r, %c {hidden = 4 : i64, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0>} : (tensor<7x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<1x1x4xf32>) -> (tensor<7x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>)
  %y, %h, %d = graph.lstm %x, %w, %r, %c {hidden = 4, direction = "forward", operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 1, 0, 0>} : (tensor<7x1x3xf32>, tensor<1x16x3xf32>, tensor<1x16x4xf32>, tensor<1x1x4xf32>) -> (tensor<7x1x1x4xf32>, tensor<1x1x4xf32>, tensor<1x1x4xf32>)
  func.return
}

func.func @gru(%x: tensor<7x1x3xf32>, %w: tensor<1x12x3xf32>, %r: tensor<1x12x4xf32>, %h: tensor<1x1x4xf32>) {
  // CHECK: graph.gru %x, %w, %r, %h {hidden = 4 : i64, direction = "reverse", linear_before_reset, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>} : (tensor<7x1x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, tensor<1x1x4xf32>) -> (tensor<7x1x1x4xf32>, tensor<1x1x4xf32>)
  %y, %l = graph.gru %x, %w, %r, %h {hidden = 4, direction = "reverse", linear_before_reset, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0>} : (tensor<7x1x3xf32>, tensor<1x12x3xf32>, tensor<1x12x4xf32>, tensor<1x1x4xf32>) -> (tensor<7x1x1x4xf32>, tensor<1x1x4xf32>)
  func.return
}

func.func @rnn(%x: tensor<7x1x3xf32>, %w: tensor<1x4x3xf32>, %r: tensor<1x4x4xf32>, %b: tensor<1x8xf32>) {
  // CHECK: graph.rnn %x, %w, %r, %b {hidden = 4 : i64, direction = "forward", activations = ["relu"], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<7x1x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>, tensor<1x8xf32>) -> (tensor<7x1x1x4xf32>, tensor<1x1x4xf32>)
  %y, %l = graph.rnn %x, %w, %r, %b {hidden = 4, direction = "forward", activations = ["relu"], operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0>} : (tensor<7x1x3xf32>, tensor<1x4x3xf32>, tensor<1x4x4xf32>, tensor<1x8xf32>) -> (tensor<7x1x1x4xf32>, tensor<1x1x4xf32>)
  func.return
}

func.func @unpack(%p: tensor<2x5x8xf32>, %c: tensor<2x1x18x4xf32>, %d: tensor<3x9x8xf32>) {
  // CHECK: graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8, transposed = 1}>, shape = array<i64: 12, 5>} : (tensor<2x5x8xf32>) -> tensor<12x5xf32>
  // CHECK: graph.unpack %c {packing = #kernel.packing<"conv_panels", {nr = 4, groups = 2}>, shape = array<i64: 6, 2, 3, 3>} : (tensor<2x1x18x4xf32>) -> tensor<6x2x3x3xf32>
  // CHECK: graph.unpack %d {packing = #kernel.packing<"depthwise", {nr = 8}>, shape = array<i64: 20, 1, 3, 3>} : (tensor<3x9x8xf32>) -> tensor<20x1x3x3xf32>
  %0 = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8, transposed = 1}>, shape = array<i64: 12, 5>} : (tensor<2x5x8xf32>) -> tensor<12x5xf32>
  %1 = graph.unpack %c {packing = #kernel.packing<"conv_panels", {nr = 4, groups = 2}>, shape = array<i64: 6, 2, 3, 3>} : (tensor<2x1x18x4xf32>) -> tensor<6x2x3x3xf32>
  %2 = graph.unpack %d {packing = #kernel.packing<"depthwise", {nr = 8}>, shape = array<i64: 20, 1, 3, 3>} : (tensor<3x9x8xf32>) -> tensor<20x1x3x3xf32>
  func.return
}
