// RUN: mini-opt %s -p tile-batch,dce --split-input-file | filecheck %s

// Two entries of 2048 bytes in and out are more than four caches hold: one after the other goes through both products and
// what is between them. Weights are read in each turn as they are.
// CHECK-LABEL: @main
// CHECK:         %[[W:.*]] = graph.constant dense<{{.*}}> : tensor<4x4xf32>
// CHECK:         %[[Z:.*]] = graph.broadcast_to %{{.*}} -> tensor<2x64x4xf32>
// CHECK:         %[[N:.*]] = arith.constant 2 : index
// CHECK:         %{{.*}}, %[[Y:.*]] = scf.for %{{.*}} = %{{.*}} to %[[N]] step %{{.*}} iter_args(%[[I:.*]] = %{{.*}}, %[[ALL:.*]] = %[[Z]]) -> (tensor<i64>, tensor<2x64x4xf32>) {
// CHECK:           %[[G:.*]] = graph.gather %x, %[[I]] {axis = 0 : i64} : (tensor<2x64x4xf32>, tensor<i64>) -> tensor<64x4xf32>
// CHECK-NEXT:      %[[X:.*]] = graph.reshape %[[G]] {shape = array<i64: 1, 64, 4>}
// CHECK-NEXT:      %[[A:.*]] = graph.matmul %[[X]], %[[W]] : (tensor<1x64x4xf32>, tensor<4x4xf32>) -> tensor<1x64x4xf32>
// CHECK-NEXT:      %[[R:.*]] = graph.relu %[[A]] : tensor<1x64x4xf32>
// CHECK-NEXT:      %[[B:.*]] = graph.matmul %[[R]], %[[W]]
// CHECK-NEXT:      %[[C:.*]] = graph.relu %[[B]]
// CHECK-NEXT:      %[[ROW:.*]] = graph.reshape %[[I]] {shape = array<i64: 1, 1>}
// CHECK-NEXT:      %[[MORE:.*]] = graph.scatter_nd %[[ALL]], %[[ROW]], %[[C]]
// CHECK-NEXT:      %[[NEXT:.*]] = graph.add %[[I]], %{{.*}} : tensor<i64>
// CHECK-NEXT:      scf.yield %[[NEXT]], %[[MORE]]
// CHECK:         func.return %[[Y]]
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<2x64x4xf32>) -> tensor<2x64x4xf32> {
    %w = graph.constant dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<4x4xf32>
    %a = graph.matmul %x, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %r = graph.relu %a : tensor<2x64x4xf32>
    %b = graph.matmul %r, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %c = graph.relu %b : tensor<2x64x4xf32>
    func.return %c : tensor<2x64x4xf32>
  }
}

// -----

// A sum over all entries ends the layers; what is read behind them are two of their values. What stands in between and
// hangs on none of them is done before.
// CHECK-LABEL: @main
// CHECK:         %[[E:.*]] = graph.exp %s
// CHECK:         %{{.*}}, %[[A:.*]], %[[Y:.*]] = scf.for
// CHECK:           graph.add %{{.*}}, %[[E]] : (tensor<1x64x4xf32>, tensor<4xf32>) -> tensor<1x64x4xf32>
// CHECK:         }
// CHECK:         graph.reduce_sum %[[Y]] {axes = array<i64: 0>, keepdims}
// CHECK:         func.return %[[A]]
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<2x64x4xf32>, %s: tensor<4xf32>, %w: tensor<4x4xf32>) -> (tensor<2x64x4xf32>, tensor<1x64x4xf32>) {
    %a = graph.matmul %x, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %e = graph.exp %s : tensor<4xf32>
    %r = graph.add %a, %e : (tensor<2x64x4xf32>, tensor<4xf32>) -> tensor<2x64x4xf32>
    %b = graph.matmul %r, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %c = graph.matmul %b, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %d = graph.matmul %c, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %z = graph.reduce_sum %d {axes = array<i64: 0>, keepdims} : (tensor<2x64x4xf32>) -> tensor<1x64x4xf32>
    func.return %a, %z : tensor<2x64x4xf32>, tensor<1x64x4xf32>
  }
}

// -----

// Left as they are: layers whose entries fit into four caches all together;
// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1024, threads = 1>} {
  func.func @main(%x: tensor<2x64x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x64x4xf32> {
    %a = graph.matmul %x, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %b = graph.matmul %a, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %c = graph.matmul %b, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %d = graph.matmul %c, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    func.return %d : tensor<2x64x4xf32>
  }
}

// -----

// whose weights are more than four times an entry;
// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<64x4x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x4x64xf32> {
    %a = graph.matmul %x, %w : (tensor<64x4x64xf32>, tensor<64x64xf32>) -> tensor<64x4x64xf32>
    %b = graph.matmul %a, %w : (tensor<64x4x64xf32>, tensor<64x64xf32>) -> tensor<64x4x64xf32>
    %c = graph.matmul %b, %w : (tensor<64x4x64xf32>, tensor<64x64xf32>) -> tensor<64x4x64xf32>
    %d = graph.matmul %c, %w : (tensor<64x4x64xf32>, tensor<64x64xf32>) -> tensor<64x4x64xf32>
    func.return %d : tensor<64x4x64xf32>
  }
}

// -----

// of which there is one entry;
// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<1x256x4xf32>, %w: tensor<4x4xf32>) -> tensor<1x256x4xf32> {
    %a = graph.matmul %x, %w : (tensor<1x256x4xf32>, tensor<4x4xf32>) -> tensor<1x256x4xf32>
    %b = graph.matmul %a, %w : (tensor<1x256x4xf32>, tensor<4x4xf32>) -> tensor<1x256x4xf32>
    %c = graph.matmul %b, %w : (tensor<1x256x4xf32>, tensor<4x4xf32>) -> tensor<1x256x4xf32>
    %d = graph.matmul %c, %w : (tensor<1x256x4xf32>, tensor<4x4xf32>) -> tensor<1x256x4xf32>
    func.return %d : tensor<1x256x4xf32>
  }
}

// -----

// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<1x16x16x4xf32>, %w: tensor<4x4x1x1xf32>) -> tensor<1x16x16x4xf32> {
    %a = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x16x16x4xf32>
    %b = graph.conv %a, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x16x16x4xf32>
    %c = graph.conv %b, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x16x16x4xf32>
    %d = graph.conv %c, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x16x16x4xf32>, tensor<4x4x1x1xf32>) -> tensor<1x16x16x4xf32>
    func.return %d : tensor<1x16x16x4xf32>
  }
}

// -----

// that are a single layer;
// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<2x64x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x64x4xf32> {
    %a = graph.matmul %x, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %b = graph.relu %a : tensor<2x64x4xf32>
    %c = graph.relu %b : tensor<2x64x4xf32>
    %d = graph.relu %c : tensor<2x64x4xf32>
    func.return %d : tensor<2x64x4xf32>
  }
}

// -----

// and which copies would cost as much as they save.
// CHECK-LABEL: @main
// CHECK-NOT:     scf.for
module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 512, threads = 1>} {
  func.func @main(%x: tensor<2x64x4xf32>, %w: tensor<4x4xf32>) -> tensor<2x64x4xf32> {
    %a = graph.matmul %x, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    %b = graph.matmul %a, %w : (tensor<2x64x4xf32>, tensor<4x4xf32>) -> tensor<2x64x4xf32>
    func.return %b : tensor<2x64x4xf32>
  }
}
