// RUN: mini-opt %s -p bufferize --split-input-file | filecheck %s

graph.kernel @relu(%a: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %r = graph.relu %a : tensor<2x4xf32>
  graph.yield %r : tensor<2x4xf32>
}

// Two rows of %x are read, and two of the result written, where they lie: in the output. Nothing fills it before.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[Y:[a-z]+]]: memref<8x4xf32> {{.*}}graph.role = "output"
// CHECK-NOT:     memref.alloc
// CHECK-NOT:     kernel.call
// CHECK:         scf.for %[[I:.*]] =
// CHECK:           %[[TO:.*]] = arith.muli %[[I]]
// CHECK:           %[[FROM:.*]] = arith.addi %[[TO]]
// CHECK:           %[[FIRST:.*]] = arith.muli %[[FROM]], %{{.*}} : index
// CHECK-NEXT:      %[[IN:.*]] = kernel.window %x{{\[}}%[[FIRST]]{{\]}} {name = "x"} : memref<9x4xf32> to memref<2x4xf32>
// CHECK:           %[[START:.*]] = arith.muli %[[TO]], %{{.*}} : index
// CHECK-NEXT:      %[[OUT:.*]] = kernel.window %[[Y]]{{\[}}%[[START]]{{\]}} {{.*}} : memref<8x4xf32> to memref<2x4xf32>
// CHECK-NEXT:      kernel.call @relu ins(%[[IN]] : memref<2x4xf32>) outs(%[[OUT]] : memref<2x4xf32>)
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<9x4xf32>) -> tensor<8x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %rows = graph.empty : tensor<8x4xf32>
  %y = scf.for %i = %c0 to %c4 step %c1 iter_args(%all = %rows) -> (tensor<8x4xf32>) {
    %to = arith.muli %i, %c2 : index
    %from = arith.addi %to, %c1 : index
    %in = graph.extract_rows %x, %from {axis = 0 : i64, size = 2 : i64} : (tensor<9x4xf32>, index) -> tensor<2x4xf32>
    %out = graph.call @relu(%in) : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %more = graph.insert_rows %all, %out, %to {axis = 0 : i64} : (tensor<8x4xf32>, tensor<2x4xf32>, index) -> tensor<8x4xf32>
    scf.yield %more : tensor<8x4xf32>
  }
  func.return %y : tensor<8x4xf32>
}

// -----

// Rows of an input are no result that could be made in its place: they are copied.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    %[[Y:[a-z]+]]: memref<8x4xf32> {{.*}}graph.role = "output"
// CHECK:         %[[TO:.*]] = kernel.window %[[Y]]{{\[}}%{{.*}}] {{.*}} : memref<8x4xf32> to memref<2x4xf32>
// CHECK-NEXT:    kernel.call @copy_0 ins(%x : memref<2x4xf32>) outs(%[[TO]] : memref<2x4xf32>)
func.func @main(%x: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %c2 = arith.constant 2 : index
  %rows = graph.empty : tensor<8x4xf32>
  %y = graph.insert_rows %rows, %x, %c2 {axis = 0 : i64} : (tensor<8x4xf32>, tensor<2x4xf32>, index) -> tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}
