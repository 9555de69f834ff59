// RUN: mini-opt %s -p lower-kernels | filecheck %s

#elements = #kernel.schedule<"elements">

builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 1>} {
  // Rows of 8 are copied between slices of wider ones: one function, which is passed strides in units of 8 elements.
  // That all rows are walked along as one axis is known whatever they are.
  // CHECK-LABEL: func.func @main
  // CHECK-DAG:     %[[THREE:.*]] = arith.constant 3 : index
  // CHECK-DAG:     %[[FIVE:.*]] = arith.constant 5 : index
  // CHECK-DAG:     %[[NINE:.*]] = arith.constant 9 : index
  // CHECK:         func.call @kernel_copy(%{{.*}}, %{{.*}}, %[[THREE]], %[[FIVE]], %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK:         func.call @kernel_copy(%{{.*}}, %{{.*}}, %[[FIVE]], %[[NINE]], %{{.*}}, %{{.*}}, %{{.*}})
  // A dense buffer, and rows that are not one axis, are something else. With one call of its kind, numbers stay.
  // CHECK:         func.call @kernel_copy_2(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (memref<2x4x8xf32>, memref<2x4x8xf32, strided<[160, 40, 1]>>, index, index, index)
  // CHECK:         func.call @kernel_copy_3(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : (memref<2x4x8xf32, strided<[200, 40, 1]>>, memref<2x4x8xf32, strided<[96, 24, 1]>>, index, index, index)
  // Where rows lie on each other, which is read by a stride of 0, is a fact of the code, and so is that of 24 in both.
  // CHECK:         func.call @kernel_add(%{{.*}}, %{{.*}}, %{{.*}}, %[[ONE:.*]], %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK:         func.call @kernel_add(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  func.func @main(
    %a: memref<2x4x8xf32, strided<[96, 24, 1]>>, %b: memref<2x4x8xf32, strided<[160, 40, 1]>>,
    %c: memref<2x4x8xf32, strided<[288, 72, 1], offset: 16>>, %d: memref<2x4x8xf32>,
    %e: memref<2x4x8xf32, strided<[200, 40, 1]>>, %row: memref<4x8xf32, strided<[0, 1]>>,
    %m: memref<4x8xf32, strided<[24, 1]>>, %n: memref<4x8xf32, strided<[48, 1]>>, %o: memref<4x8xf32, strided<[96, 1]>>
  ) {
    kernel.call @copy ins(%a : memref<2x4x8xf32, strided<[96, 24, 1]>>) outs(%b : memref<2x4x8xf32, strided<[160, 40, 1]>>)
    kernel.call @copy ins(%b : memref<2x4x8xf32, strided<[160, 40, 1]>>) outs(%c : memref<2x4x8xf32, strided<[288, 72, 1], offset: 16>>)
    kernel.call @copy ins(%d : memref<2x4x8xf32>) outs(%b : memref<2x4x8xf32, strided<[160, 40, 1]>>)
    kernel.call @copy ins(%e : memref<2x4x8xf32, strided<[200, 40, 1]>>) outs(%a : memref<2x4x8xf32, strided<[96, 24, 1]>>)
    kernel.call @add ins(%m, %row : memref<4x8xf32, strided<[24, 1]>>, memref<4x8xf32, strided<[0, 1]>>) outs(%n : memref<4x8xf32, strided<[48, 1]>>)
    kernel.call @add ins(%m, %row : memref<4x8xf32, strided<[24, 1]>>, memref<4x8xf32, strided<[0, 1]>>) outs(%o : memref<4x8xf32, strided<[96, 1]>>)
    func.return
  }

  // CHECK-LABEL: func.func private @kernel_copy(
  // CHECK-SAME:    memref<2x4x8xf32, strided<[?, ?, 1], offset: ?>>, %{{.*}}: memref<2x4x8xf32, strided<[?, ?, 1], offset: ?>>, %[[IN:.*]]: index, %[[OUT:.*]]: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index)
  // CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
  // CHECK:         %[[IN_ROW:.*]] = arith.muli %[[IN]], %[[EIGHT]] : index
  // CHECK:         %[[OUT_ROW:.*]] = arith.muli %[[OUT]], %[[EIGHT]] : index
  // CHECK:         scf.for %[[ROW:.*]] =
  // CHECK-NOT:     scf.for
  // CHECK:           arith.muli %[[ROW]], %[[IN_ROW]] : index
  // CHECK:           arith.muli %[[ROW]], %[[OUT_ROW]] : index
  graph.kernel @copy(%x: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> attributes {schedule = #elements, interface = #kernel.interface<strided_operands = [0], strided_results = [0]>} {
    graph.yield %x : tensor<2x4x8xf32>
  }
  graph.kernel @add(%x: tensor<4x8xf32>, %y: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {schedule = #elements, interface = #kernel.interface<strided_operands = [0, 1], strided_results = [0]>} {
    %s = graph.add %x, %y : tensor<4x8xf32>
    graph.yield %s : tensor<4x8xf32>
  }
}
