// RUN: mini-opt %s -p canonicalize-graph --split-input-file | filecheck %s

// Sizes are the same where they are at all shapes: a reshape and its way back are nothing.
// CHECK-LABEL: @there_and_back
// CHECK-NEXT:    graph.relu %x : tensor<(batch)x(tokens)x8xf32>
// CHECK-NEXT:    func.return
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @there_and_back(%x: tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch)x(tokens)x8xf32> {
    %0 = graph.reshape %x {shape = array<i64: (batch * tokens), 8>} : (tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch * tokens)x8xf32>
    %1 = graph.reshape %0 {shape = array<i64: (batch), (tokens), 8>} : (tensor<(batch * tokens)x8xf32>) -> tensor<(batch)x(tokens)x8xf32>
    %2 = graph.relu %1 : tensor<(batch)x(tokens)x8xf32>
    func.return %2 : tensor<(batch)x(tokens)x8xf32>
  }
}

// -----

// Rows that were flattened for a product are flattened no more.
// CHECK-LABEL: @rows
// CHECK-NEXT:    %[[P:.*]] = graph.matmul %x, %w : (tensor<(batch)x(tokens)x8xf32>, tensor<8x4xf32>) -> tensor<(batch)x(tokens)x4xf32>
// CHECK-NEXT:    func.return %[[P]]
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @rows(%x: tensor<(batch)x(tokens)x8xf32>, %w: tensor<8x4xf32>) -> tensor<(batch)x(tokens)x4xf32> {
    %0 = graph.reshape %x {shape = array<i64: (batch * tokens), 8>} : (tensor<(batch)x(tokens)x8xf32>) -> tensor<(batch * tokens)x8xf32>
    %1 = graph.matmul %0, %w : (tensor<(batch * tokens)x8xf32>, tensor<8x4xf32>) -> tensor<(batch * tokens)x4xf32>
    %2 = graph.reshape %1 {shape = array<i64: (batch), (tokens), 4>} : (tensor<(batch * tokens)x4xf32>) -> tensor<(batch)x(tokens)x4xf32>
    func.return %2 : tensor<(batch)x(tokens)x4xf32>
  }
}

// -----

// A slice of all tokens there are is nothing. One of the first 16 is all of them now, but not at all shapes: it stays.
// CHECK-LABEL: @slices
// CHECK-NEXT:    %[[FIRST:.*]] = graph.slice %x {{.*}}stops = array<i64: (batch), 16>
// CHECK-NEXT:    func.return %x, %[[FIRST]]
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [16, 64]>} {
  func.func @slices(%x: tensor<(batch)x(tokens)xf32>) -> (tensor<(batch)x(tokens)xf32>, tensor<(batch)x16xf32>) {
    %0 = graph.slice %x {starts = array<i64: 0, 0>, stops = array<i64: (batch), (tokens)>, steps = array<i64: 1, 1>} : (tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x(tokens)xf32>
    %1 = graph.slice %x {starts = array<i64: 0, 0>, stops = array<i64: (batch), 16>, steps = array<i64: 1, 1>} : (tensor<(batch)x(tokens)xf32>) -> tensor<(batch)x16xf32>
    func.return %0, %1 : tensor<(batch)x(tokens)xf32>, tensor<(batch)x16xf32>
  }
}

// -----

// Of a causal convolution over any number of tokens, the four that look ahead are not computed.
// CHECK-LABEL: @chomp
// CHECK-NEXT:    graph.conv %x, %w {{.*}}pads = array<i64: 4, 0>{{.*}} -> tensor<(batch)x2x(tokens)xf32>
// CHECK-NEXT:    func.return
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @chomp(%x: tensor<(batch)x2x(tokens)xf32>, %w: tensor<2x2x3xf32>) -> tensor<(batch)x2x(tokens)xf32> {
    %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 4, 4>, dilations = array<i64: 2>, groups = 1 : i64, layout = "NCHW"} : (tensor<(batch)x2x(tokens)xf32>, tensor<2x2x3xf32>) -> tensor<(batch)x2x(tokens + 4)xf32>
    %1 = graph.slice %0 {starts = array<i64: 0, 0, 0>, stops = array<i64: (batch), 2, (tokens)>, steps = array<i64: 1, 1, 1>} : (tensor<(batch)x2x(tokens + 4)xf32>) -> tensor<(batch)x2x(tokens)xf32>
    func.return %1 : tensor<(batch)x2x(tokens)xf32>
  }
}
