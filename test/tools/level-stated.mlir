// RUN: mini-opt %s -p form-kernels,choose-schedule,bufferize | filecheck %s

// The pass that brings a module to a level states it.
// CHECK: builtin.module attributes {mini_infer.level = "buffers"}
builtin.module attributes {mini_infer.level = "graph"} {
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.relu %x : tensor<4xf32>
  func.return %y : tensor<4xf32>
}
}
