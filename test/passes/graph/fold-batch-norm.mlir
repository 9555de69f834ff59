// RUN: mini-opt %s -p fold-batch-norm,dce --split-input-file | filecheck %s

// scale / sqrt(variance) is [1, 1]: the weight is multiplied by it, the bias is -mean.
// CHECK-LABEL: @into_conv
// CHECK:         %[[W:.*]] = graph.constant dense<{{.*}}1.000000e+00{{.*}}> : tensor<2x1x1xf32>
// CHECK-NEXT:    %[[B:.*]] = graph.constant dense<{{\[}}-5.000000e+00, -7.000000e+00]>
// CHECK-NEXT:    graph.conv %x, %[[W]], %[[B]]
// CHECK-NEXT:    func.return
func.func @into_conv(%x: tensor<1x1x4xf32>) -> tensor<1x2x4xf32> {
  %w = graph.constant dense<1.0> : tensor<2x1x1xf32>
  %scale = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %bias = graph.constant dense<0.0> : tensor<2xf32>
  %mean = graph.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %variance = graph.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32>
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance {epsilon = 0.0 : f64, layout = "NCHW"} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %1 : tensor<1x2x4xf32>
}

// -----

// Alone it is a product and a sum.
// CHECK-LABEL: @alone
// CHECK-DAG:     %[[S:.*]] = graph.constant dense<1.000000e+00> : tensor<2x1xf32>
// CHECK-DAG:     %[[T:.*]] = graph.constant dense<{{.*}}-5.000000e+00{{.*}}-7.000000e+00{{.*}}> : tensor<2x1xf32>
// CHECK:         %[[P:.*]] = graph.mul %x, %[[S]]
// CHECK-NEXT:    graph.add %[[P]], %[[T]]
func.func @alone(%x: tensor<1x2x4xf32>) -> tensor<1x2x4xf32> {
  %scale = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %bias = graph.constant dense<0.0> : tensor<2xf32>
  %mean = graph.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %variance = graph.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %0 = graph.batch_norm %x, %scale, %bias, %mean, %variance {epsilon = 0.0 : f64, layout = "NCHW"} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}

// -----

// Statistics that aren't known stay.
// CHECK-LABEL: @unknown
// CHECK:         graph.batch_norm
func.func @unknown(%x: tensor<1x2x4xf32>, %p: tensor<2xf32>) -> tensor<1x2x4xf32> {
  %0 = graph.batch_norm %x, %p, %p, %p, %p {epsilon = 0.0 : f64, layout = "NCHW"} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32>
  func.return %0 : tensor<1x2x4xf32>
}
