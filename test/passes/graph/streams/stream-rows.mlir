// RUN: mini-opt %s -p stream-rows{band=128},dce --split-input-file | filecheck %s

// A band is two rows of what is between the convolutions. The second one reads a row more than it makes, so the first
// makes one ahead, from two rows of %x and a row of padding; of each band two rows are read again.
// CHECK-LABEL: @main
// CHECK:         %[[ALL:.*]] = graph.empty : tensor<1x32x4x2xf32>
// CHECK-NEXT:    %[[X:.*]] = graph.slice %x {{.*}} -> tensor<1x2x4x2xf32>
// CHECK-NEXT:    graph.conv %[[X]], %w {{.*}}pads = array<i64: 1, 1, 0, 1>{{.*}} -> tensor<1x1x4x4xf32>
// CHECK:         %[[B:.*]] = graph.concat %{{.*}}, %{{.*}} -> tensor<1x3x4x4xf32>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %[[B]], %v {{.*}}pads = array<i64: 1, 1, 0, 1>{{.*}} -> tensor<1x2x4x2xf32>
// CHECK:         %[[FIRST:.*]] = graph.insert_rows %[[ALL]], %[[Y]], %{{.*}} {axis = 1 : i64}
// CHECK-NEXT:    %[[KEPT:.*]] = graph.slice %[[B]] {{.*}} -> tensor<1x2x4x4xf32>
// CHECK:         %[[PLACE:.*]] = graph.slide %{{.*}}, %[[KEPT]] {axis = 1 : i64}
// CHECK:         %[[TURNS:.*]] = arith.constant 14 : index
// CHECK:         %{{.*}}, %[[LAST:.*]], %[[MADE:.*]] = scf.for %[[I:.*]] = %{{.*}} to %[[TURNS]] step %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[K:.*]] = %[[PLACE]], %[[M:.*]] = %[[FIRST]])
// CHECK-NEXT:      %[[TWO:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[BY:.*]] = arith.constant 2 : index
// CHECK-NEXT:      %[[MORE:.*]] = arith.muli %[[I]], %[[BY]] : index
// CHECK-NEXT:      %[[ROW:.*]] = arith.addi %[[TWO]], %[[MORE]] : index
// CHECK-NEXT:      %[[IN:.*]] = graph.extract_rows %x, %[[ROW]] {axis = 1 : i64, size = 4 : i64}
// CHECK-NEXT:      %[[A:.*]] = graph.conv %[[IN]], %w {{.*}}pads = array<i64: 0, 1, 0, 1>{{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NEXT:      %[[R:.*]] = graph.relu %[[A]]
// CHECK-NEXT:      %[[J:.*]] = graph.concat %[[K]], %[[R]] {axis = 1 : i64}
// CHECK-NEXT:      %[[C:.*]] = graph.conv %[[J]], %v {{.*}}pads = array<i64: 0, 1, 0, 1>
// CHECK:           %[[OUT:.*]] = graph.insert_rows %[[M]], %[[C]], %{{.*}}
// CHECK-NEXT:      %[[LAST2:.*]] = graph.slice %[[J]] {{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NEXT:      %[[NEXT:.*]] = graph.slide %[[K]], %[[LAST2]] {axis = 1 : i64}
// CHECK:           scf.yield %{{.*}}, %[[NEXT]], %[[OUT]]
// CHECK:         %[[END:.*]] = graph.concat %[[LAST]], %{{.*}} -> tensor<1x3x4x4xf32>
// CHECK-NEXT:    graph.conv %[[END]], %v {{.*}}pads = array<i64: 0, 1, 1, 1>{{.*}} -> tensor<1x2x4x2xf32>
// CHECK:         graph.insert_rows %[[MADE]]
module {
  func.func @main(%x: tensor<1x32x4x2xf32>, %w: tensor<4x2x3x3xf32>, %v: tensor<2x4x3x3xf32>) -> tensor<1x32x4x2xf32> {
    %a = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x32x4x2xf32>, tensor<4x2x3x3xf32>) -> tensor<1x32x4x4xf32>
    %r = graph.relu %a : tensor<1x32x4x4xf32>
    %b = graph.conv %r, %v {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x32x4x4xf32>, tensor<2x4x3x3xf32>) -> tensor<1x32x4x2xf32>
    func.return %b : tensor<1x32x4x2xf32>
  }
}

// -----

// A band of 128 bytes has all rows: nothing changes.
// CHECK-LABEL: @main
// CHECK-NEXT:    %[[A:.*]] = graph.matmul %x, %w
// CHECK-NEXT:    %[[B:.*]] = graph.matmul %[[A]], %v
// CHECK-NEXT:    func.return %[[B]]
module {
  func.func @main(%x: tensor<8x2xf32>, %w: tensor<2x4xf32>, %v: tensor<4x2xf32>) -> tensor<8x2xf32> {
    %a = graph.matmul %x, %w : (tensor<8x2xf32>, tensor<2x4xf32>) -> tensor<8x4xf32>
    %b = graph.matmul %a, %v : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    func.return %b : tensor<8x2xf32>
  }
}

// -----

// Of %a the second convolution reads ten rows for two that it makes: they lie in one window, into which new ones slide,
// as many as the loop needs at once. There are zeros in front until so many are made.
// CHECK-LABEL: @main
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[W:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<i64>, tensor<1x10x4x4xf32>, {{.*}})
// CHECK:           %[[A:.*]] = graph.conv %{{.*}}, %w {{.*}} -> tensor<1x2x4x4xf32>
// CHECK-NEXT:      %[[NEXT:.*]] = graph.slide %[[W]], %[[A]] {axis = 1 : i64} : (tensor<1x10x4x4xf32>, tensor<1x2x4x4xf32>) -> tensor<1x10x4x4xf32>
// CHECK-NEXT:      graph.conv %[[NEXT]], %v
// CHECK:           scf.yield %{{.*}}, %[[NEXT]], %{{.*}}
module {
  func.func @main(%x: tensor<1x64x4x2xf32>, %w: tensor<4x2x1x1xf32>, %v: tensor<2x4x9x1xf32>) -> tensor<1x64x4x2xf32> {
    %a = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x64x4x2xf32>, tensor<4x2x1x1xf32>) -> tensor<1x64x4x4xf32>
    %b = graph.conv %a, %v {strides = array<i64: 1, 1>, pads = array<i64: 4, 0, 4, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x64x4x4xf32>, tensor<2x4x9x1xf32>) -> tensor<1x64x4x2xf32>
    func.return %b : tensor<1x64x4x2xf32>
  }
}

// -----

// Two new rows are read for each that the second convolution makes, but a band has one: each is made by itself, and they
// are put together with the row that is read again where they are read.
// CHECK-LABEL: @main
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[K:.*]] = %{{.*}}, %{{.*}} = %{{.*}}) -> (tensor<i64>, tensor<1x1x4x8xf32>, {{.*}})
// CHECK:           %[[A:.*]] = graph.conv %{{.*}}, %w {{.*}} -> tensor<1x1x4x8xf32>
// CHECK-NOT:       graph.concat
// CHECK:           %[[B:.*]] = graph.conv %{{.*}}, %w {{.*}} -> tensor<1x1x4x8xf32>
// CHECK-NEXT:      %[[READ:.*]] = graph.concat %[[K]], %[[A]], %[[B]] {axis = 1 : i64}
// CHECK-NEXT:      graph.conv %[[READ]], %v
module {
  func.func @main(%x: tensor<1x64x4x2xf32>, %w: tensor<8x2x3x3xf32>, %v: tensor<2x8x3x3xf32>) -> tensor<1x32x2x2xf32> {
    %a = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x64x4x2xf32>, tensor<8x2x3x3xf32>) -> tensor<1x64x4x8xf32>
    %b = graph.conv %a, %v {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x64x4x8xf32>, tensor<2x8x3x3xf32>) -> tensor<1x32x2x2xf32>
    func.return %b : tensor<1x32x2x2xf32>
  }
}

// -----

// All rows are read for a mean, but not all channels at once: two groups of 32.
// CHECK-LABEL: @main
// CHECK:         %[[W0:.*]] = graph.weight {{.*}} : tensor<32x3x1x1xf32>
// CHECK-NEXT:    %[[A0:.*]] = graph.conv %x, %[[W0]] {{.*}} -> tensor<1x4x4x32xf32>
// CHECK-NEXT:    %[[R0:.*]] = graph.relu %[[A0]]
// CHECK-NEXT:    %[[M0:.*]] = graph.reduce_mean %[[R0]]
// CHECK:         %[[A1:.*]] = graph.conv %x, %{{.*}} -> tensor<1x4x4x32xf32>
// CHECK:         %[[M1:.*]] = graph.reduce_mean
// CHECK-NEXT:    graph.concat %[[M0]], %[[M1]] {axis = 1 : i64}
module {
  func.func @main(%x: tensor<1x4x4x3xf32>) -> tensor<1x64xf32> {
    %w = graph.constant dense<0.5> : tensor<64x3x1x1xf32>
    %a = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x4x3xf32>, tensor<64x3x1x1xf32>) -> tensor<1x4x4x64xf32>
    %r = graph.relu %a : tensor<1x4x4x64xf32>
    %m = graph.reduce_mean %r {axes = array<i64: 1, 2>} : (tensor<1x4x4x64xf32>) -> tensor<1x64xf32>
    func.return %m : tensor<1x64xf32>
  }
}

// -----

// Attention of two heads, whose queries, keys and values have more than a band: those of a head are made, and its
// attention, before those of the other.
// CHECK-LABEL: @main
// CHECK:         %[[Q0:.*]] = graph.matmul %x, %{{.*}} : (tensor<1x16x4xf32>, tensor<4x4xf32>) -> tensor<1x16x4xf32>
// CHECK:         %[[K0:.*]] = graph.matmul %x, %{{.*}} -> tensor<1x16x4xf32>
// CHECK:         graph.attention %{{.*}}, %{{.*}}, %{{.*}} {{.*}} tensor<1x1x16x4xf32>
// CHECK:         %[[A0:.*]] = graph.reshape %{{.*}} -> tensor<1x16x4xf32>
// CHECK:         graph.matmul %x, %{{.*}} -> tensor<1x16x4xf32>
// CHECK:         graph.matmul %x, %{{.*}} -> tensor<1x16x4xf32>
// CHECK:         graph.attention %{{.*}}, %{{.*}}, %{{.*}} {{.*}} tensor<1x1x16x4xf32>
// CHECK:         %[[A1:.*]] = graph.reshape %{{.*}} -> tensor<1x16x4xf32>
// CHECK-NEXT:    graph.concat %[[A0]], %[[A1]] {axis = 2 : i64}
module {
  func.func @main(%x: tensor<1x16x4xf32>) -> tensor<1x16x8xf32> {
    %w = graph.constant dense<0.5> : tensor<4x8xf32>
    %u = graph.constant dense<0.25> : tensor<4x8xf32>
    %p = graph.matmul %x, %w : (tensor<1x16x4xf32>, tensor<4x8xf32>) -> tensor<1x16x8xf32>
    %pr = graph.reshape %p {shape = array<i64: 1, 16, 2, 4>} : (tensor<1x16x8xf32>) -> tensor<1x16x2x4xf32>
    %q = graph.transpose %pr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x16x2x4xf32>) -> tensor<1x2x16x4xf32>
    %r = graph.matmul %x, %u : (tensor<1x16x4xf32>, tensor<4x8xf32>) -> tensor<1x16x8xf32>
    %rr = graph.reshape %r {shape = array<i64: 1, 16, 2, 4>} : (tensor<1x16x8xf32>) -> tensor<1x16x2x4xf32>
    %k = graph.transpose %rr {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x16x2x4xf32>) -> tensor<1x2x16x4xf32>
    %a = graph.attention %q, %k, %k {scale = 0.5 : f64} : tensor<1x2x16x4xf32>
    %t = graph.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : (tensor<1x2x16x4xf32>) -> tensor<1x16x2x4xf32>
    %y = graph.reshape %t {shape = array<i64: 1, 16, 8>} : (tensor<1x16x2x4xf32>) -> tensor<1x16x8xf32>
    func.return %y : tensor<1x16x8xf32>
  }
}

// -----

// Nobody reads %s behind the stream, and its rows are read before those of the result are made: these take its place.
// CHECK-LABEL: @main
// CHECK:         %[[S:.*]] = graph.softmax %x
// CHECK:         scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[ALL:.*]] = %[[S]])
// CHECK:           graph.gather %[[ALL]], %{{.*}} {axis = 0 : i64}
// CHECK:           %[[NEXT:.*]] = graph.scatter_nd %[[ALL]]
// CHECK:           scf.yield %{{.*}}, %[[NEXT]]
module {
  func.func @main(%x: tensor<64x2xf32>, %w: tensor<2x16xf32>, %v: tensor<16x2xf32>) -> tensor<64x2xf32> {
    %s = graph.softmax %x {axis = 0 : i64} : tensor<64x2xf32>
    %a = graph.matmul %s, %w : (tensor<64x2xf32>, tensor<2x16xf32>) -> tensor<64x16xf32>
    %b = graph.matmul %a, %v : (tensor<64x16xf32>, tensor<16x2xf32>) -> tensor<64x2xf32>
    %c = graph.add %b, %s : tensor<64x2xf32>
    func.return %c : tensor<64x2xf32>
  }
}
