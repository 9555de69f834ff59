// RUN: mini-opt %s -p lower-to-llvm --split-input-file | filecheck %s

// Each function reads the symbols it needs from the table, by their place in #kernel.symbols; a stride is what is computed
// from them: 8 * tokens elements from entry to entry.
// CHECK-LABEL: llvm.func @element
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr {{.*}}, %[[I:.*]]: i64, %[[J:.*]]: i64, %[[SIZES:.*]]: !llvm.ptr {{{.*}}graph.role = "sizes"{{.*}}})
// CHECK:         %[[AT:.*]] = llvm.getelementptr %[[SIZES]][1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:    %[[TOKENS:.*]] = llvm.load %[[AT]] : !llvm.ptr -> i64
// CHECK:         %[[STRIDE:.*]] = llvm.mul %[[TOKENS]], %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[ENTRY:.*]] = llvm.mul %[[I]], %[[STRIDE]] overflow<nsw> : i64
// CHECK:         llvm.add %[[ENTRY]], %{{.*}} overflow<nsw> : i64
// CHECK-NOT:     llvm.getelementptr %[[SIZES]]
// A constant of sizes is computed where it stands: a product of both symbols less 1.
// CHECK-LABEL: llvm.func @last
// CHECK:         %[[ONE:.*]] = llvm.mlir.constant(-1) : i64
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr %{{.*}}[0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:    %[[BATCH:.*]] = llvm.load %[[P]] : !llvm.ptr -> i64
// CHECK-NEXT:    %[[Q:.*]] = llvm.getelementptr %{{.*}}[1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:    %[[TOKENS:.*]] = llvm.load %[[Q]] : !llvm.ptr -> i64
// CHECK-NEXT:    %[[ALL:.*]] = llvm.mul %[[BATCH]], %[[TOKENS]] overflow<nsw> : i64
// CHECK-NEXT:    %[[LAST:.*]] = llvm.add %[[ONE]], %[[ALL]] overflow<nsw> : i64
// CHECK-NEXT:    llvm.getelementptr inbounds %{{.*}}[%[[LAST]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
builtin.module attributes {kernel.symbols = #kernel.symbols<dim batch = 2 in [1, 8], dim tokens = 16 in [1, 64]>} {
  func.func @element(%x: memref<(batch)x(tokens)x8xf32>, %i: index, %j: index, %sizes: memref<2xi64> {graph.role = "sizes"}) -> f32 {
    %c3 = arith.constant 3 : index
    %v = memref.load %x[%i, %j, %c3] : memref<(batch)x(tokens)x8xf32>
    func.return %v : f32
  }
  func.func @last(%x: memref<(batch * tokens)xf32>, %sizes: memref<2xi64> {graph.role = "sizes"}) -> f32 {
    %last = arith.constant (batch * tokens - 1) : index
    %v = memref.load %x[%last] : memref<(batch * tokens)xf32>
    func.return %v : f32
  }
}

// -----

// Where a buffer lies in the arena is read as well. Of a dimension that is a multiple of 8 the table has the eighth.
// CHECK-LABEL: llvm.func @main
// CHECK-SAME:    %arena: !llvm.ptr {{.*}}, %sizes: !llvm.ptr
// CHECK:         %[[P:.*]] = llvm.getelementptr %sizes[1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:    %[[OFFSET:.*]] = llvm.load %[[P]] : !llvm.ptr -> i64
// CHECK-NEXT:    %[[Q:.*]] = llvm.getelementptr %sizes[0] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK-NEXT:    %[[EIGHTH:.*]] = llvm.load %[[Q]] : !llvm.ptr -> i64
// CHECK:         %[[EIGHT:.*]] = llvm.mlir.constant(8) : i64
// CHECK-NEXT:    %[[WIDTH:.*]] = llvm.mul %[[EIGHTH]], %[[EIGHT]] overflow<nsw> : i64
// CHECK:         %[[A:.*]] = llvm.getelementptr inbounds %arena[%[[OFFSET]]] : (!llvm.ptr, i64) -> !llvm.ptr, i8
// CHECK:         llvm.call @kernel_k(%[[A]], %[[WIDTH]], %sizes)
builtin.module attributes {kernel.symbols = #kernel.symbols<dim width = 32 in [8, 64] by 8, offset "buffer a" = 256 in [0, 65536] live [0, 1]>, mini_infer.level = "loops"} {
  func.func private @kernel_k(memref<("width / 8" * 8)xf32>, index, memref<2xi64>)
  func.func @main(%arena: memref<512xi8> {graph.role = "arena"}, %sizes: memref<2xi64> {graph.role = "sizes"}) {
    %at = arith.constant ("buffer a") : index
    %a = memref.view %arena[%at][] : memref<512xi8> to memref<("width / 8" * 8)xf32>
    %width = arith.constant ("width / 8" * 8) : index
    func.call @kernel_k(%a, %width, %sizes) : (memref<("width / 8" * 8)xf32>, index, memref<2xi64>) -> ()
    func.return
  }
}
