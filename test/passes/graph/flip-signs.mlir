// RUN: mini-opt %s -p flip-signs --split-input-file | filecheck %s

// ARM's sdot takes signed by signed bytes: x - 128, and 128 times the sum of the weights in the bias.
// CHECK-LABEL: @convolution
// CHECK:         %[[C:.*]] = graph.cast %x {to = i8}
// CHECK:         %[[H:.*]] = graph.constant dense<-128> : tensor<i8>
// CHECK-NEXT:    %[[X:.*]] = graph.add %[[C]], %[[H]]
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<[1538, -254]> : tensor<2xi32>
// CHECK-NEXT:    %[[Y:.*]] = graph.conv %[[X]], %w, %[[B]] {{.*}}pad_value = -125 : i64
// CHECK-NEXT:    func.return %[[Y]]
builtin.module attributes {kernel.target = #kernel.cpu<"generic" has ["sdot"]>} {
  func.func @convolution(%x: tensor<1x4x5x2xui8>) -> tensor<1x4x5x2xi32> {
    %w = graph.constant dense<[[[[5]], [[7]]], [[[-3]], [[1]]]]> : tensor<2x2x1x1xi8>
    %b = graph.constant dense<2> : tensor<2xi32>
    %y = graph.conv %x, %w, %b {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC", pad_value = 3 : i64} : (tensor<1x4x5x2xui8>, tensor<2x2x1x1xi8>, tensor<2xi32>) -> tensor<1x4x5x2xi32>
    func.return %y : tensor<1x4x5x2xi32>
  }
}

// -----

// AVX's vpdpbusd takes bytes of which one is signed; it goes before sums of two products.
// CHECK-LABEL: @product
// CHECK:         %[[C:.*]] = graph.cast %x {to = ui8}
// CHECK:         %[[X:.*]] = graph.add %[[C]], %{{.*}} : (tensor<3x2xui8>
// CHECK:         %[[Y:.*]] = graph.matmul %[[X]], %w : (tensor<3x2xui8>, tensor<2x2xi8>) -> tensor<3x2xi32>
// CHECK-NEXT:    %[[Z:.*]] = graph.add %[[Y]], %{{.*}} : (tensor<3x2xi32>, tensor<2xi32>)
// CHECK-NEXT:    func.return %[[Z]]
builtin.module attributes {kernel.target = #kernel.cpu<"generic" has ["pmaddwd", "vpdpbusd"]>} {
  func.func @product(%x: tensor<3x2xi8>) -> tensor<3x2xi32> {
    %w = graph.constant dense<[[5, 7], [-3, 1]]> : tensor<2x2xi8>
    %y = graph.matmul %x, %w : (tensor<3x2xi8>, tensor<2x2xi8>) -> tensor<3x2xi32>
    func.return %y : tensor<3x2xi32>
  }
}

// -----

// What it takes as it is, and weights that nobody knows, stay.
// CHECK-LABEL: @others
// CHECK-NEXT:    %w = graph.constant
// CHECK-NEXT:    graph.matmul %x, %w
// CHECK-NEXT:    graph.matmul %z, %v
builtin.module attributes {kernel.target = #kernel.cpu<"generic" has ["vpdpbusd"]>} {
  func.func @others(%x: tensor<3x2xui8>, %z: tensor<3x2xi8>, %v: tensor<2x2xi8>) -> (tensor<3x2xi32>, tensor<3x2xi32>) {
    %w = graph.constant dense<[[5, 7], [-3, 1]]> : tensor<2x2xi8>
    %y = graph.matmul %x, %w : (tensor<3x2xui8>, tensor<2x2xi8>) -> tensor<3x2xi32>
    %u = graph.matmul %z, %v : (tensor<3x2xi8>, tensor<2x2xi8>) -> tensor<3x2xi32>
    func.return %y, %u : tensor<3x2xi32>, tensor<3x2xi32>
  }
}
