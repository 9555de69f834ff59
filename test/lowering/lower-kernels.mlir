// RUN: mini-opt %s -p lower-kernels | filecheck %s

#schedule = #kernel.schedule<"panels", {mr = 4, nr = 8, lanes = 4, inline = 1}>

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  // What main calls itself is the one share of one, in the first seat. The same kernel with another sharing is another function.
  // CHECK-LABEL: func.func @main
  // CHECK-SAME:    {graph.role = "team"}
  // CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : index
  // CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK-NOT:     kernel.barrier
  // CHECK:         func.call @kernel_matmul_0(%x, %w, %r, %y, %[[ZERO]], %[[ONE]], %[[ZERO]])
  // CHECK-NEXT:    func.call @kernel_matmul_0(%y, %w, %r, %x, %[[ZERO]], %[[ONE]], %[[ZERO]])
  // In place the residual and the result are one argument.
  // CHECK-NEXT:    func.call @kernel_matmul_0_2(%x, %w, %r, %[[ZERO]], %[[ONE]], %[[ZERO]])
  func.func @main(%x: memref<4x8xf32>, %w: memref<1x8x8xf32>, %r: memref<4x8xf32>, %y: memref<4x8xf32>) {
    kernel.call @matmul_0 ins(%x, %w, %r : memref<4x8xf32>, memref<1x8x8xf32>, memref<4x8xf32>) outs(%y : memref<4x8xf32>)
    kernel.barrier
    kernel.call @matmul_0 ins(%y, %w, %r : memref<4x8xf32>, memref<1x8x8xf32>, memref<4x8xf32>) outs(%x : memref<4x8xf32>)
    kernel.call @matmul_0 ins(%x, %w, %r : memref<4x8xf32>, memref<1x8x8xf32>, memref<4x8xf32>) outs(%r : memref<4x8xf32>)
    func.return
  }

  // A stage hands its share and its seat on.
  // CHECK-LABEL: func.func @stage_0
  // CHECK-SAME:    %[[SHARE:[0-9a-z]+]]: index, %[[SHARES:[0-9a-z]+]]: index, %[[SEAT:[0-9a-z]+]]: index)
  // CHECK-NEXT:    func.call @kernel_matmul_0(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[SHARE]], %[[SHARES]], %[[SEAT]])
  func.func @stage_0(%x: memref<4x8xf32>, %w: memref<1x8x8xf32>, %r: memref<4x8xf32>, %y: memref<4x8xf32>, %share: index, %shares: index, %seat: index) {
    kernel.call @matmul_0 ins(%x, %w, %r : memref<4x8xf32>, memref<1x8x8xf32>, memref<4x8xf32>) outs(%y : memref<4x8xf32>)
    func.return
  }

  graph.kernel @matmul_0(%a: tensor<4x8xf32>, %p: tensor<1x8x8xf32>, %res: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {schedule = #schedule, interface = #kernel.interface<inplace = [[2, 0]], packed = [1 : #kernel.packing<"conv_panels", {nr = 8}>]>, constant_operands = array<i64: 1>} {
    %b = graph.unpack %p {packing = #kernel.packing<"panels", {nr = 8}>, shape = array<i64: 8, 8>} : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
    %m = graph.matmul %a, %b : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %s = graph.add %m, %res : tensor<4x8xf32>
    graph.yield %s : tensor<4x8xf32>
  }
}

// A kernel hands its sizes and strides to the function that all kernels of its kind have.
// CHECK:       func.func private @kernel_matmul_0(%[[X:[0-9]+]]: memref<4x8xf32>
// CHECK:         %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:         %[[PLACE:.*]] = memref.reinterpret_cast %[[X]] to offset: [%{{.*}}], sizes: [], strides: []
// CHECK:         func.call @panels(%[[PLACE]], {{.*}}, %[[EIGHT]]
// In place it is another one, which has a buffer less.
// CHECK:       func.func private @kernel_matmul_0_2(
// CHECK:         func.call @panels_2(

// A strip of tiles: four rows of 8 sums each in registers over the inner sum, then the residual and the store.
// CHECK:       func.func private @tile_4x8_add(%tiles: index, %depth: index, %a_place: {{.*}}, %a_stride: index
// CHECK:         scf.for {{.*}} to %tiles
// CHECK:         scf.for {{.*}} to %depth {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK-COUNT-4:   vector.fma
// CHECK:         arith.addf
// CHECK:         vector.store
// CHECK-LABEL: func.func private @panels(
// CHECK:         func.call @tile_4x8_add(
