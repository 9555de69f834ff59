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
