// RUN: mini-opt %s -p lower-to-llvm | filecheck %s

// A memref is a bare pointer to its first element; one index computation, one address, the element's alignment.
// CHECK-LABEL: llvm.func @load
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.nocapture}, %[[I:.*]]: i64, %[[J:.*]]: i64) -> vector<4xf32>
// CHECK:         %[[STRIDE:.*]] = llvm.mlir.constant(8) : i64
// CHECK:         %[[ROW:.*]] = llvm.mul %[[I]], %[[STRIDE]] overflow<nsw> : i64
// CHECK-NEXT:    %[[AT:.*]] = llvm.add %[[ROW]], %[[J]] overflow<nsw> : i64
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr inbounds %[[X]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    %[[V:.*]] = llvm.load %[[P]] {alignment = 4 : i64} : !llvm.ptr -> vector<4xf32>
// CHECK-NEXT:    llvm.return %[[V]]
func.func @load(%x: memref<8x8xf32>, %i: index, %j: index) -> vector<4xf32> {
  %v = vector.load %x[%i, %j] : memref<8x8xf32>, vector<4xf32>
  func.return %v : vector<4xf32>
}

// Accesses that differ by constants share the rest of the address.
// CHECK-LABEL: llvm.func @shared_address
// CHECK:         %[[P:.*]] = llvm.getelementptr inbounds %{{.*}}[%{{.*}}] : (!llvm.ptr, i64)
// CHECK-NEXT:    llvm.load %[[P]]
// CHECK-NEXT:    %[[Q:.*]] = llvm.getelementptr inbounds %[[P]][17] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.load %[[Q]]
// CHECK-NOT:     llvm.mul
// CHECK:         llvm.return
func.func @shared_address(%x: memref<4x4x8xf32>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %a = memref.load %x[%i, %c0, %c0] : memref<4x4x8xf32>
  %b = memref.load %x[%i, %c2, %c1] : memref<4x4x8xf32>
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}

// What was computed inside a loop is not used after it.
// CHECK-LABEL: llvm.func @not_beyond_the_loop
// CHECK-COUNT-2: llvm.mul %{{.*}}, %{{.*}} overflow<nsw>
// CHECK:         llvm.return
func.func @not_beyond_the_loop(%x: memref<8x8xf32>, %i: index, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f32
  scf.for %k = %c0 to %n step %c1 {
    memref.store %one, %x[%i, %k] : memref<8x8xf32>
  }
  memref.store %one, %x[%i, %c0] : memref<8x8xf32>
  func.return
}

// Truth values take a byte in memory; any byte but 0 is true.
// CHECK-LABEL: llvm.func @truth_values
// CHECK:         %[[BYTES:.*]] = llvm.load %{{.*}} {alignment = 1 : i64} : !llvm.ptr -> vector<4xi8>
// CHECK-NEXT:    %[[V:.*]] = llvm.icmp "ne" %[[BYTES]], %{{.*}} : vector<4xi8>
// CHECK-NEXT:    %[[OUT:.*]] = llvm.zext %[[V]] : vector<4xi1> to vector<4xi8>
// CHECK-NEXT:    llvm.store %[[OUT]]
func.func @truth_values(%x: memref<4xi1>) {
  %c0 = arith.constant 0 : index
  %v = vector.load %x[%c0] : memref<4xi1>, vector<4xi1>
  vector.store %v, %x[%c0] : memref<4xi1>, vector<4xi1>
  func.return
}

// Views move the pointer or keep it.
// CHECK-LABEL: llvm.func @views
// CHECK-SAME:    (%[[ARENA:.*]]: !llvm.ptr {{.*}}, %[[I:.*]]: i64)
// CHECK:         %[[A:.*]] = llvm.getelementptr inbounds %[[ARENA]][256] : (!llvm.ptr) -> !llvm.ptr, i8
// CHECK-NEXT:    %[[ROW:.*]] = llvm.mul %[[I]]
// CHECK-NEXT:    %[[B:.*]] = llvm.getelementptr inbounds %[[A]][%[[ROW]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    %[[C:.*]] = llvm.getelementptr inbounds %[[B]][3] : (!llvm.ptr) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.load %[[C]]
func.func @views(%arena: memref<4096xi8>, %i: index) -> f32 {
  %c0 = arith.constant 0 : index
  %c256 = arith.constant 256 : index
  %a = memref.view %arena[%c256][] : memref<4096xi8> to memref<4x8xf32>
  %b = memref.subview %a[%i, 3] [1, 4] [1, 1] : memref<4x8xf32> to memref<1x4xf32, strided<[8, 1], offset: ?>>
  %v = memref.load %b[%c0, %c0] : memref<1x4xf32, strided<[8, 1], offset: ?>>
  func.return %v : f32
}

// A prefetch may go astray, so its address promises nothing.
// CHECK-LABEL: llvm.func @prefetch
// CHECK:         %[[P:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}]
// CHECK-NEXT:    llvm.call_intrinsic "llvm.prefetch.p0"(%[[P]]
func.func @prefetch(%x: memref<8xf32>, %i: index) {
  memref.prefetch %x[%i], read, locality<3>, data : memref<8xf32>
  func.return
}

// Masked accesses carry their alignment on the pointer.
// CHECK-LABEL: llvm.func @tail
// CHECK:         %[[M:.*]] = llvm.icmp "ult" %{{.*}} : vector<8xi32>
// CHECK:         %[[V:.*]] = llvm.call_intrinsic "llvm.masked.load.v8f32.p0"(%{{.*}}, %[[M]], %{{.*}}) {arg_attrs = [{llvm.align = 4 : i64}, {}, {}]}
// CHECK:         llvm.call_intrinsic "llvm.masked.store.v8f32.p0"(%[[V]], %{{.*}}, %[[M]])
func.func @tail(%x: memref<64xf32>, %i: index, %left: index) {
  %m = vector.create_mask %left : vector<8xi1>
  %z = arith.constant dense<0.0> : vector<8xf32>
  %v = vector.maskedload %x[%i], %m, %z : memref<64xf32>, vector<8xi1>, vector<8xf32> into vector<8xf32>
  vector.maskedstore %x[%i], %m, %v : memref<64xf32>, vector<8xi1>, vector<8xf32>
  func.return
}

// One lane is a scalar. How many lanes of under four bytes are stored, LLVM does not learn: it would widen a single one.
// CHECK-LABEL: llvm.func @narrow_tails
// CHECK-SAME:    %[[LEFT:[a-z_0-9]*]]: i64)
// CHECK:         %[[LANE:.*]] = llvm.extractelement
// CHECK-NEXT:    llvm.store %[[LANE]], %{{.*}} : i8, !llvm.ptr
// CHECK:         %[[HIDDEN:.*]] = llvm.inline_asm "", "=r,0" %[[LEFT]] : (i64) -> i64
// CHECK:         llvm.call_intrinsic "llvm.smax.i64"(%[[HIDDEN]]
// CHECK:         %[[M:.*]] = llvm.icmp "ult" %{{.*}} : vector<8xi32>
// CHECK:         llvm.call_intrinsic "llvm.masked.store.v8i8.p0"(%{{.*}}, %{{.*}}, %[[M]])
func.func @narrow_tails(%x: memref<64xi8>, %v: vector<8xi8>, %left: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = vector.create_mask %c1 : vector<8xi1>
  vector.maskedstore %x[%c0], %one, %v : memref<64xi8>, vector<8xi1>, vector<8xi8>
  %some = vector.create_mask %left : vector<8xi1>
  vector.maskedstore %x[%c0], %some, %v : memref<64xi8>, vector<8xi1>, vector<8xi8>
  func.return
}

// Strides of run time are those that the cast was given. A stride times a constant index is one product.
// CHECK-LABEL: llvm.func @strides_of_run_time
// CHECK-SAME:    (%[[X:.*]]: !llvm.ptr {llvm.noalias, llvm.nocapture}, %[[AT:.*]]: i64, %[[ROW:.*]]: i64, %[[I:.*]]: i64, %{{.*}}: i64)
// CHECK:         %[[START:.*]] = llvm.getelementptr inbounds %[[X]][%[[AT]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK:         %[[TWO:.*]] = llvm.mul %[[ROW]], %{{.*}} overflow<nsw> : i64
// CHECK-NEXT:    %[[PLACE:.*]] = llvm.add %[[TWO]], %[[I]] overflow<nsw> : i64
// CHECK-NEXT:    %[[P:.*]] = llvm.getelementptr inbounds %[[START]][%[[PLACE]]] : (!llvm.ptr, i64) -> !llvm.ptr, f32
// CHECK-NEXT:    llvm.load %[[P]]
// CHECK:         llvm.mul %[[I]], %[[ROW]] overflow<nsw> : i64
func.func @strides_of_run_time(%x: memref<f32, strided<[], offset: ?>>, %at: index, %row: index, %i: index, %rows: index) -> f32 {
  %c2 = arith.constant 2 : index
  %c0 = arith.constant 0 : index
  %m = memref.reinterpret_cast %x to offset: [%at], sizes: [%rows, 8], strides: [%row, 1] : memref<f32, strided<[], offset: ?>> to memref<?x8xf32, strided<[?, 1], offset: ?>>
  %a = memref.load %m[%c2, %i] : memref<?x8xf32, strided<[?, 1], offset: ?>>
  %b = memref.load %m[%i, %c0] : memref<?x8xf32, strided<[?, 1], offset: ?>>
  %c = arith.addf %a, %b : f32
  func.return %c : f32
}
