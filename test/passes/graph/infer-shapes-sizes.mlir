// RUN: mini-opt %s -p infer-shapes --split-input-file --disable-verify | filecheck %s

// Wrong types are made right: a concatenation adds sizes, a pool divides them, and 1 with a size makes the size.
// CHECK-LABEL: func.func @joined
// CHECK-SAME:    -> (tensor<8x(batch * 3)xf32>, tensor<3xi64>)
// CHECK-NEXT:    graph.concat {{.*}} -> tensor<(batch * 3)x8xf32>
// CHECK-NEXT:    graph.transpose {{.*}} -> tensor<8x(batch * 3)xf32>
// CHECK-NEXT:    graph.sizes {{.*}} : tensor<3xi64>
// CHECK-LABEL: func.func @pooled
// CHECK-SAME:    -> tensor<(batch)x4x((tokens + 1) floordiv 2)xf32>
// CHECK-NEXT:    graph.max_pool {{.*}} -> tensor<(batch)x4x((tokens + 1) floordiv 2)xf32>
// CHECK-NEXT:    graph.add {{.*}} -> tensor<(batch)x4x((tokens + 1) floordiv 2)xf32>
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @joined(%x: tensor<(batch)x8xf32>, %y: tensor<(batch * 2)x8xf32>) -> (tensor<8x8xf32>, tensor<8xi64>) {
    %0 = graph.concat %x, %y {axis = 0 : i64} : (tensor<(batch)x8xf32>, tensor<(batch * 2)x8xf32>) -> tensor<(batch)x8xf32>
    %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<(batch)x8xf32>) -> tensor<8x8xf32>
    %2 = graph.sizes {sizes = array<i64: (batch), (tokens), 4>} : tensor<8xi64>
    func.return %1, %2 : tensor<8x8xf32>, tensor<8xi64>
  }
  func.func @pooled(%x: tensor<(batch)x4x(tokens)xf32>, %bias: tensor<4x1xf32>) -> tensor<2x4x8xf32> {
    %0 = graph.max_pool %x {kernel = array<i64: 3>, strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>, layout = "NCHW"} : (tensor<(batch)x4x(tokens)xf32>) -> tensor<2x4x8xf32>
    %1 = graph.add %bias, %0 : (tensor<4x1xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    func.return %1 : tensor<2x4x8xf32>
  }
}

// -----

// Sixteen elements are added to as many tokens, and of the rows the first twenty are taken: right for some shapes only, which
// the module says from here on.
// CHECK:       kernel.guards = #kernel.guards<(tokens - 16) zero, (rows - 19) positive>
// CHECK-LABEL: func.func @guarded
// CHECK-SAME:    -> (tensor<16xf32>, tensor<20xf32>)
builtin.module attributes {kernel.symbols = #kernel.symbols<dim tokens = 16 in [1, 64], dim rows = 32 in [1, 64]>} {
  func.func @guarded(%x: tensor<(tokens)xf32>, %y: tensor<16xf32>, %z: tensor<(rows)xf32>) -> (tensor<1xf32>, tensor<1xf32>) {
    %0 = graph.add %y, %x : (tensor<16xf32>, tensor<(tokens)xf32>) -> tensor<1xf32>
    %1 = graph.slice %z {starts = array<i64: 0>, stops = array<i64: 20>, steps = array<i64: 1>} : (tensor<(rows)xf32>) -> tensor<1xf32>
    func.return %0, %1 : tensor<1xf32>, tensor<1xf32>
  }
}
