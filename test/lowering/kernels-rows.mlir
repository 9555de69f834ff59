// RUN: mini-opt %s -p lower-kernels | mini-opt | filecheck %s

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 256, registers = 16, l2 = 1048576, threads = 1>} {
  func.func @main(%a: memref<4x70xf32>, %b: memref<4x70xf32>, %mean: memref<70xf32>, %s: memref<320xi8>) {
    kernel.call @softmax ins(%a : memref<4x70xf32>) outs(%a : memref<4x70xf32>) scratch(%s : memref<320xi8>)
    kernel.call @norm ins(%a, %b, %mean : memref<4x70xf32>, memref<4x70xf32>, memref<70xf32>) outs(%b : memref<4x70xf32>) scratch(%s : memref<320xi8>)
    kernel.call @columns ins(%a : memref<4x70xf32>) outs(%mean : memref<70xf32>)
    func.return
  }

  // Three passes; lanes that stand for no element add nothing, which is -0; exponentials are kept in scratch.
  // CHECK-LABEL: func.func private @kernel_softmax(
  // CHECK-SAME:    memref<4x70xf32>, %[[S:.*]]: memref<320xi8>
  // CHECK:         %[[NOTHING:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
  // CHECK:         %[[ROW:.*]] = memref.view %[[S]]
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK:         vector.maskedload
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK:           vector.store {{.*}}, %[[ROW]]
  // CHECK:         vector.create_mask
  // CHECK:         arith.select %{{.*}}, %{{.*}}, %[[NOTHING]]
  // CHECK:         vector.shuffle {{.*}} : vector<2xf32>, vector<2xf32>
  // CHECK:         vector.extract
  // CHECK:         scf.for
  // CHECK:           vector.load %[[ROW]]
  // CHECK:         func.return
  graph.kernel @softmax(%x: tensor<4x70xf32>) -> tensor<4x70xf32> attributes {schedule = #kernel.schedule<"rows", {lanes = 8, vector = 32}>, interface = #kernel.interface<inplace = [[0, 0]], per_thread = 320>} {
    %r = graph.softmax %x {axis = 1 : i64} : tensor<4x70xf32>
    graph.yield %r : tensor<4x70xf32>
  }

  // The sum in front is computed once, in the first pass; in the last pass it comes from scratch.
  // CHECK-LABEL: func.func private @kernel_norm(
  // CHECK:         %[[ROW:.*]] = memref.view
  // CHECK:         scf.for {{.*}} -> (vector<32xf32>)
  // CHECK:           arith.addf
  // CHECK:           vector.store {{.*}}, %[[ROW]]
  // CHECK:         math.sqrt
  // CHECK:         scf.for
  // CHECK:           vector.load %[[ROW]]
  // CHECK:           math.absf
  // CHECK:         func.return
  graph.kernel @norm(%x: tensor<4x70xf32>, %y: tensor<4x70xf32>, %scale: tensor<70xf32>) -> tensor<4x70xf32> attributes {schedule = #kernel.schedule<"rows", {lanes = 8, vector = 32}>, interface = #kernel.interface<inplace = [[1, 0]], per_thread = 320>} {
    %t = graph.add %x, %y : tensor<4x70xf32>
    %n = graph.rms_norm %t, %scale {axis = 1 : i64, epsilon = 1.0e-5 : f64} : (tensor<4x70xf32>, tensor<70xf32>) -> tensor<4x70xf32>
    %r = graph.abs %n : tensor<4x70xf32>
    graph.yield %r : tensor<4x70xf32>
  }

  // Columns: each lane has a row of its own, so nothing is put together across lanes.
  // CHECK-LABEL: func.func private @kernel_columns(
  // CHECK:         scf.for {{.*}} -> (vector<16xf32>)
  // CHECK-NOT:     vector.reduction
  // CHECK:         func.return
  graph.kernel @columns(%x: tensor<4x70xf32>) -> tensor<70xf32> attributes {schedule = #kernel.schedule<"rows", {lanes = 8, vector = 16}>, interface = #kernel.interface<>} {
    %r = graph.reduce_mean %x {axes = array<i64: 0>} : (tensor<4x70xf32>) -> tensor<70xf32>
    graph.yield %r : tensor<70xf32>
  }
}
