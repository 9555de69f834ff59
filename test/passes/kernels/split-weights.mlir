// RUN: mini-opt %s --split-input-file -p form-kernels,choose-schedule,split-weights{budget=400000} --elide-weights | filecheck %s

// A product whose weights (512 x 256 floats, 524,288 bytes) exceed what a budget of 400,000 bytes leaves for a call
// becomes two for 256 columns each, calls of one kernel. x is read by both.
// CHECK-LABEL: @main(%x: tensor<4x256xf32>)
// CHECK:         %[[W0:.*]] = graph.weight {{.*}} : tensor<256x256xf32>
// CHECK-NEXT:    %[[W1:.*]] = graph.weight {{.*}} : tensor<256x256xf32>
// CHECK:         %[[Y0:.*]] = graph.call @matmul_relu_0_of_256(%x, %[[W0]]) : (tensor<4x256xf32>, tensor<256x256xf32>) -> tensor<4x256xf32>
// CHECK-NEXT:    %[[Y1:.*]] = graph.call @matmul_relu_0_of_256(%x, %[[W1]])
// CHECK-NEXT:    %[[Y:.*]] = graph.call @matmul_relu_0_concat_0(%[[Y0]], %[[Y1]])
// CHECK-NEXT:    func.return %[[Y]]
// The whole is gone. The part has its schedule, and as many biases as columns.
// CHECK-NOT:     graph.kernel @matmul_relu_0(
// CHECK:         graph.kernel @matmul_relu_0_of_256{{.*}}schedule = #kernel.schedule<"panels", {mr = 6, nr = 8, lanes = 4, inline = 1}>
// CHECK:           graph.constant dense<1.000000e-01> : tensor<256xf32>
func.func @main(%x: tensor<4x256xf32>) -> tensor<4x512xf32> {
  %w = graph.constant dense<0.5> : tensor<256x512xf32>
  %b = graph.constant dense<0.1> : tensor<512xf32>
  %0 = graph.matmul %x, %w : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  %1 = graph.add %0, %b : (tensor<4x512xf32>, tensor<512xf32>) -> tensor<4x512xf32>
  %2 = graph.relu %1 : (tensor<4x512xf32>) -> tensor<4x512xf32>
  func.return %2 : tensor<4x512xf32>
}

// -----

// What is added is computed, and is cut by calls that move parts of it. Channels of a convolution are cut like columns;
// what doesn't divide evenly ends in a smaller part.
// CHECK-LABEL: @main(%x: tensor<1x6x6x256xf32>
// CHECK:         graph.call @conv_add_0_slice_0(%r)
// CHECK-NEXT:    graph.call @conv_add_0_of_192(
// CHECK-NEXT:    graph.call @conv_add_0_slice_1(%r)
// CHECK-NEXT:    graph.call @conv_add_0_of_128(
// CHECK-NEXT:    graph.call @conv_add_0_concat_2(
func.func @main(%x: tensor<1x6x6x256xf32>, %r: tensor<1x6x6x320xf32>) -> tensor<1x6x6x320xf32> {
  %w = graph.constant dense<0.25> : tensor<320x256x1x1xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"} : (tensor<1x6x6x256xf32>, tensor<320x256x1x1xf32>) -> tensor<1x6x6x320xf32>
  %1 = graph.add %0, %r : (tensor<1x6x6x320xf32>, tensor<1x6x6x320xf32>) -> tensor<1x6x6x320xf32>
  func.return %1 : tensor<1x6x6x320xf32>
}

// -----

// One column reads all weights, and can't be cut; the budget holds the other product. Both stay.
// CHECK-LABEL: @main(%x: tensor<4x131072xf32>
// CHECK-NOT:     _of_
func.func @main(%x: tensor<4x131072xf32>, %y: tensor<4x256xf32>) -> (tensor<4x1xf32>, tensor<4x128xf32>) {
  %w = graph.constant dense<0.5> : tensor<131072x1xf32>
  %v = graph.constant dense<0.5> : tensor<256x128xf32>
  %0 = graph.matmul %x, %w : (tensor<4x131072xf32>, tensor<131072x1xf32>) -> tensor<4x1xf32>
  %1 = graph.matmul %y, %v : (tensor<4x256xf32>, tensor<256x128xf32>) -> tensor<4x128xf32>
  func.return %0, %1 : tensor<4x1xf32>, tensor<4x128xf32>
}
