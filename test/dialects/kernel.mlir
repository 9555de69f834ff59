// The kernel dialect is read back as it is written.
// RUN: mini-opt %s | filecheck %s
// RUN: mini-opt %s | mini-opt | filecheck %s

// What a target doesn't say is that of a portable CPU, with the speed that is expected of its vectors.
// CHECK: gpu = #kernel.gpu<"sm_90a" computing "tf32", multiprocessors = 132, shared = 232448, registers = 65536, l2 = 52428800, gflops = 67000, tensor_gflops = 494000, gbytes = 4300>
// CHECK-SAME: portable = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 524288, threads = 1, gflops = 64, gbytes = 40>
// CHECK-SAME: same = #kernel.cpu<"generic" reproducible has ["fma"], vector_bits = 128, registers = 16, l2 = 524288, threads = 1, gflops = 64, gbytes = 40>
// CHECK-SAME: kernel.target = #kernel.cpu<"znver5" has ["fma", "half", "round"], vector_bits = 512, registers = 32, l2 = 1048576, threads = 4, gflops = 256, gbytes = 40>
builtin.module attributes {gpu = #kernel.gpu<"sm_90a" computing "tf32", multiprocessors = 132, shared = 232448, registers = 65536, l2 = 52428800, gflops = 67000, tensor_gflops = 494000, gbytes = 4300>, portable = #kernel.cpu<"generic">, same = #kernel.cpu<"generic" reproducible has ["fma"]>, kernel.target = #kernel.cpu<"znver5" has ["fma", "half", "round"], vector_bits = 512, registers = 32, l2 = 1048576, threads = 4>} {
  // CHECK-LABEL: func.func @main
  func.func @main(%x: memref<2x3xf32>, %n: memref<1xi64>) {
    // CHECK-NEXT: %[[W:.*]] = kernel.weight #graph.blob<"model.onnx", 64, 12, "digest"> : memref<3xf32>
    %w = kernel.weight #graph.blob<"model.onnx", 64, 12, "digest"> : memref<3xf32>
    %y = memref.alloc() : memref<2x3xf32>
    %s = memref.alloc() : memref<128xi8>
    // CHECK: kernel.call @add ins(%x, %[[W]] : memref<2x3xf32>, memref<3xf32>) outs(%[[Y:.*]] : memref<2x3xf32>) scratch(%{{.*}} : memref<128xi8>)
    kernel.call @add ins(%x, %w : memref<2x3xf32>, memref<3xf32>) outs(%y : memref<2x3xf32>) scratch(%s : memref<128xi8>)
    // CHECK-NEXT: kernel.barrier
    kernel.barrier
    // A buffer in ins and outs is written in place; strides are the buffer's own affair.
    %part = memref.reinterpret_cast %y to offset: [0], sizes: [2, 3], strides: [3, 1] : memref<2x3xf32> to memref<2x3xf32, strided<[3, 1]>>
    // CHECK: kernel.call @add ins(%[[P:.*]], %[[W]] : memref<2x3xf32, strided<[3, 1]>>, memref<3xf32>) outs(%[[P]] : memref<2x3xf32, strided<[3, 1]>>) {note = "in place"}
    kernel.call @add ins(%part, %w : memref<2x3xf32, strided<[3, 1]>>, memref<3xf32>) outs(%part : memref<2x3xf32, strided<[3, 1]>>) {note = "in place"}
    // Indices out of range are noted in a status.
    // CHECK-NEXT: kernel.call @one outs(%x : memref<2x3xf32>) status(%n : memref<1xi64>)
    kernel.call @one outs(%x : memref<2x3xf32>) status(%n : memref<1xi64>)
    // A call may read nothing.
    // CHECK-NEXT: kernel.call @one outs(%x : memref<2x3xf32>)
    kernel.call @one outs(%x : memref<2x3xf32>)
    // CHECK: kernel.window %x[%{{.*}}] : memref<2x3xf32> to memref<1x3xf32>
    %c3 = arith.constant 3 : index
    %second = kernel.window %x[%c3] : memref<2x3xf32> to memref<1x3xf32>
    func.return
  }

  // CHECK: graph.kernel @add
  // CHECK-SAME: schedule = #kernel.schedule<"panels", {mr = 14, nr = 32}>
  // CHECK-SAME: interface = #kernel.interface<inplace = {{\[\[}}0, 0]], strided_operands = [0, 1], strided_results = [0], packed = [1 : #kernel.packing<"panels", {nr = 8}>], scratch = 64, per_thread = 16, pieces = 3>
  graph.kernel @add(%a: tensor<2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3xf32> attributes {
    schedule = #kernel.schedule<"panels", {mr = 14, nr = 32}>,
    interface = #kernel.interface<inplace = [[0, 0]], strided_operands = [0, 1], strided_results = [0], packed = [1 : #kernel.packing<"panels", {nr = 8}>], scratch = 64, per_thread = 16, pieces = 3>
  } {
    %c = graph.add %a, %b : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    graph.yield %c : tensor<2x3xf32>
  }

  // CHECK: graph.kernel @one
  // CHECK-SAME: schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>
  graph.kernel @one() -> tensor<2x3xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %c = graph.constant dense<1.0> : tensor<2x3xf32>
    graph.yield %c : tensor<2x3xf32>
  }

  // CHECK: graph.kernel @renamed
  // CHECK-SAME: interface = #kernel.interface<moves = [0 to 0 sizes [6] from 0 [1] at 0 [1], 1 to 1 sizes [2, 2] from 0 [2, 1] at 0 [2, 1]]>
  graph.kernel @renamed(%a: tensor<2x3xf32>, %b: tensor<4xf32>) -> (tensor<6xf32>, tensor<2x2xf32>) attributes {interface = #kernel.interface<moves = [0 to 0 sizes [6] from 0 [1] at 0 [1], 1 to 1 sizes [2, 2] from 0 [2, 1] at 0 [2, 1]]>} {
    %c = graph.reshape %a {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
    %d = graph.reshape %b {shape = array<i64: 2, 2>} : (tensor<4xf32>) -> tensor<2x2xf32>
    graph.yield %c, %d : tensor<6xf32>, tensor<2x2xf32>
  }
}
