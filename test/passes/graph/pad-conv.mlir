// RUN: mini-opt %s -p pad-conv --split-input-file | filecheck %s

// 17 columns: the pads to the left and right become an op; those above and below stay.
// CHECK-LABEL: @wide
// CHECK-NEXT:    %[[P:.*]] = graph.pad %x {low = array<i64: 0, 0, 3, 0>, high = array<i64: 0, 0, 8, 0>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %[[P]], %w {{.*}}pads = array<i64: 1, 0, 2, 0>
// CHECK-NEXT:    func.return %[[Y]]
func.func @wide(%x: tensor<1x4x9x2xf32>, %w: tensor<3x2x2x17xf32>) -> tensor<1x6x4x3xf32> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 3, 2, 8>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x9x2xf32>, tensor<3x2x2x17xf32>) -> tensor<1x6x4x3xf32>
  func.return %y : tensor<1x6x4x3xf32>
}

// -----

// 16 columns are not many; nor do rows count.
// CHECK-LABEL: @tall
// CHECK-NEXT:    graph.conv %x, %w
func.func @tall(%x: tensor<1x20x9x2xf32>, %w: tensor<3x2x18x16xf32>) -> tensor<1x6x6x3xf32> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 4, 2, 8>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x20x9x2xf32>, tensor<3x2x18x16xf32>) -> tensor<1x6x6x3xf32>
  func.return %y : tensor<1x6x6x3xf32>
}

// -----

// Without pads there is nothing to do.
// CHECK-LABEL: @inside
// CHECK-NEXT:    graph.conv %x, %w
func.func @inside(%x: tensor<1x4x20x2xf32>, %w: tensor<3x2x2x17xf32>) -> tensor<1x3x4x3xf32> {
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x20x2xf32>, tensor<3x2x2x17xf32>) -> tensor<1x3x4x3xf32>
  func.return %y : tensor<1x3x4x3xf32>
}

// -----

// Three channels of bytes become a group of four.
// CHECK-LABEL: @few_bytes
// CHECK:         %[[P:.*]] = graph.pad %x {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 0, 0, 1>
// CHECK:         graph.conv %[[P]], %{{.*}} {{.*}}pad_value = 3 : i64{{.*}} : (tensor<1x4x5x4xui8>, tensor<1x4x1x1xi8>)
func.func @few_bytes(%x: tensor<1x4x5x3xui8>) -> tensor<1x6x7x1xi32> {
  %w = graph.constant dense<[[[[5]], [[7]], [[1]]]]> : tensor<1x3x1x1xi8>
  %y = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC", pad_value = 3 : i64} : (tensor<1x4x5x3xui8>, tensor<1x3x1x1xi8>) -> tensor<1x6x7x1xi32>
  func.return %y : tensor<1x6x7x1xi32>
}

// -----

// Channels that were just put last get a plane before that.
// CHECK-LABEL: @planes
// CHECK:         %[[P:.*]] = graph.pad %x {low = array<i64: 0, 0, 0, 0>, high = array<i64: 0, 1, 0, 0>
// CHECK-NEXT:    %[[T:.*]] = graph.transpose %[[P]] {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x4x4x5xui8>) -> tensor<1x4x5x4xui8>
// CHECK:         graph.conv %[[T]], %{{.*}} : (tensor<1x4x5x4xui8>, tensor<1x4x1x1xi8>)
func.func @planes(%x: tensor<1x3x4x5xui8>) -> tensor<1x4x5x1xi32> {
  %t = graph.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : (tensor<1x3x4x5xui8>) -> tensor<1x4x5x3xui8>
  %w = graph.constant dense<[[[[5]], [[7]], [[1]]]]> : tensor<1x3x1x1xi8>
  %y = graph.conv %t, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x4x5x3xui8>, tensor<1x3x1x1xi8>) -> tensor<1x4x5x1xi32>
  func.return %y : tensor<1x4x5x1xi32>
}

// -----

// Filters that don't overlap have their columns as channels: a multiple of four of them.
// CHECK-LABEL: @patches
// CHECK:         %[[M:.*]] = graph.reshape %x {shape = array<i64: 1, 6, 2, 12>}
// CHECK:         %[[W:.*]] = graph.constant dense<{{\[\[\[\[}}1]], {{\[\[}}5]], {{\[\[}}9]], {{\[\[}}2]], {{\[\[}}6]], {{\[\[}}10]], {{\[\[}}3]], {{\[\[}}7]], {{\[\[}}11]], {{\[\[}}4]], {{\[\[}}8]], {{\[\[}}12]]]]>
// CHECK:         graph.conv %[[M]], %[[W]] {{.*}}strides = array<i64: 2, 1>, pads = array<i64: 1, 0, 0, 0>{{.*}} : (tensor<1x6x2x12xui8>, tensor<1x12x1x1xi8>)
func.func @patches(%x: tensor<1x6x8x3xui8>) -> tensor<1x4x2x1xi32> {
  %w = graph.constant dense<[[[[1, 2, 3, 4]], [[5, 6, 7, 8]], [[9, 10, 11, 12]]]]> : tensor<1x3x1x4xi8>
  %y = graph.conv %x, %w {strides = array<i64: 2, 4>, pads = array<i64: 1, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x8x3xui8>, tensor<1x3x1x4xi8>) -> tensor<1x4x2x1xi32>
  func.return %y : tensor<1x4x2x1xi32>
}

// -----

// Not where a picture has columns that no filter reads, or is padded at its sides.
// CHECK-LABEL: @rest
// CHECK-NOT:     graph.reshape
func.func @rest(%x: tensor<1x6x9x3xui8>, %z: tensor<1x6x6x3xui8>) -> (tensor<1x6x2x1xi32>, tensor<1x6x2x1xi32>) {
  %w = graph.constant dense<1> : tensor<1x3x1x4xi8>
  %y = graph.conv %x, %w {strides = array<i64: 1, 4>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x9x3xui8>, tensor<1x3x1x4xi8>) -> tensor<1x6x2x1xi32>
  %v = graph.conv %z, %w {strides = array<i64: 1, 4>, pads = array<i64: 0, 1, 0, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x6x3xui8>, tensor<1x3x1x4xi8>) -> tensor<1x6x2x1xi32>
  func.return %y, %v : tensor<1x6x2x1xi32>, tensor<1x6x2x1xi32>
}
