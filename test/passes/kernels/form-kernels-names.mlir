// A call's location tells the ONNX tensors that its results are, and the nodes that its kernel computes.
// RUN: mini-opt %s -p fold-batch-norm,dce,form-kernels | filecheck %s
// RUN: mini-opt %s -p fold-batch-norm,dce | mini-opt -p form-kernels | mini-opt | filecheck %s

// The table of the model's nodes is kept.
// CHECK: graph.model = #graph.model_nodes<["conv", "Conv", ["x"], {{\[\["c", \[1, 2, 4\], 32, "", ""\]\]\]}}
module attributes {graph.model = #graph.model_nodes<
    ["conv", "Conv", ["x"], [["c", [1, 2, 4], 32, "", ""]]],
    ["norm", "BatchNormalization", ["c"], [["n", [1, 2, 4], 32, "", ""]]],
    ["relu", "Relu", ["n"], [["r", [1, 2, 4], 32, "", ""]]],
    ["turn", "Transpose", ["r"], [["t", [2, 1, 4], 32, "", ""]]],
    ["top", "TopK", ["t"], [["top", [2, 1, 4], 32, "", ""], ["where", unknown, 0, "", "top"]]]>} {
// The convolution with the batch norm in it has the value of that node, and is named after its own.
// CHECK: graph.call @conv_0
// CHECK-SAME: loc("conv"(fused[fused["n"], "conv", "norm"]))
// CHECK: graph.call @relu_0
// CHECK-SAME: loc("relu"(fused[fused["r"], "relu"]))
// The first transpose is a part of what "turn" does, since only "turn" reads it.
// CHECK: graph.call @transpose_0
// CHECK-SAME: loc("turn"(fused[fused[""], "turn"]))
// CHECK: graph.call @transpose_1
// CHECK-SAME: loc("turn"(fused[fused["t"], "turn"]))
func.func @main(%x: tensor<1x1x4xf32>) -> tensor<2x1x4xf32> {
  %w = graph.constant dense<1.0> : tensor<2x1x1xf32>
  %scale = graph.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %bias = graph.constant dense<0.0> : tensor<2xf32>
  %mean = graph.constant dense<[5.0, 7.0]> : tensor<2xf32>
  %variance = graph.constant dense<[4.0, 9.0]> : tensor<2xf32>
  %0 = graph.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, groups = 1 : i64, layout = "NCHW"} : (tensor<1x1x4xf32>, tensor<2x1x1xf32>) -> tensor<1x2x4xf32> loc("conv")
  %1 = graph.batch_norm %0, %scale, %bias, %mean, %variance {epsilon = 0.0 : f64, layout = "NCHW"} : (tensor<1x2x4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x4xf32> loc("norm")
  %2 = graph.relu %1 : tensor<1x2x4xf32> loc("relu")
  %3 = graph.transpose %2 {permutation = array<i64: 2, 1, 0>} : (tensor<1x2x4xf32>) -> tensor<4x2x1xf32> loc("turn")
  %4 = graph.transpose %3 {permutation = array<i64: 1, 2, 0>} : (tensor<4x2x1xf32>) -> tensor<2x1x4xf32> loc("turn")
  func.return %4 : tensor<2x1x4xf32>
}
}
