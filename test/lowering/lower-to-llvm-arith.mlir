// RUN: mini-opt %s -p lower-to-llvm | filecheck %s

// Flags stay: what may be fused, reordered or assumed not to overflow.
// CHECK-LABEL: llvm.func @flags
// CHECK:         llvm.fmul %{{.*}} {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK-NEXT:    llvm.fadd %{{.*}} {fastmathFlags = #llvm.fastmath<fast>} : f32
// CHECK-NEXT:    llvm.add %{{.*}} overflow<nsw,nuw> : i64
// CHECK-NEXT:    llvm.call_intrinsic "llvm.maximum.f32"(%{{.*}}) {fastmathFlags = #llvm.fastmath<nnan,nsz>}
func.func @flags(%a: f32, %b: f32, %i: index) -> f32 {
  %0 = arith.mulf %a, %b fastmath<contract> : f32
  %1 = arith.addf %0, %b fastmath<fast> : f32
  %2 = arith.addi %i, %i overflow<nsw, nuw> : index
  %3 = arith.maximumf %1, %b fastmath<nnan,nsz> : f32
  func.return %3 : f32
}

// CHECK-LABEL: llvm.func @vectors
// CHECK:         %[[C:.*]] = llvm.fcmp "olt" %{{.*}} : vector<8xf32>
// CHECK-NEXT:    %[[S:.*]] = llvm.select %[[C]], %{{.*}} : vector<8xi1>, vector<8xf32>
// CHECK-NEXT:    llvm.call_intrinsic "llvm.fma.v8f32"(%[[S]]
// CHECK:         llvm.call_intrinsic "llvm.vector.reduce.fadd.v8f32"(%{{.*}}) {fastmathFlags = #llvm.fastmath<reassoc>}
func.func @vectors(%a: vector<8xf32>, %b: vector<8xf32>) -> f32 {
  %c = arith.cmpf olt, %a, %b : vector<8xf32>
  %s = arith.select %c, %a, %b : vector<8xi1>, vector<8xf32>
  %f = vector.fma %s, %a, %b : vector<8xf32>
  %r = vector.reduction <add>, %f : vector<8xf32> into f32
  func.return %r : f32
}

// What has no intrinsic is called once per lane.
// CHECK-LABEL: llvm.func @library
// CHECK-COUNT-2: llvm.call @cbrt(%{{.*}}) : (f64) -> f64
func.func @library(%v: vector<2xf64>) -> vector<2xf64> {
  %r = math.cbrt %v : vector<2xf64>
  func.return %r : vector<2xf64>
}

// 16-bit floats are integers that LLVM can't take for calls of a library; bf16 is widened to f32 and rounded by its bits.
// CHECK-LABEL: llvm.func @bfloat(%{{.*}}: i16, %{{.*}}: i16) -> i16
// CHECK:         llvm.zext %{{.*}} : i16 to i32
// CHECK:         %[[A:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK:         %[[B:.*]] = llvm.bitcast %{{.*}} : i32 to f32
// CHECK-NEXT:    %[[SUM:.*]] = llvm.fadd %[[A]], %[[B]] : f32
// CHECK-NEXT:    llvm.bitcast %[[SUM]] : f32 to i32
// CHECK:         llvm.trunc %{{.*}} : i32 to i16
func.func @bfloat(%a: bf16, %b: bf16) -> bf16 {
  %r = arith.addf %a, %b : bf16
  func.return %r : bf16
}

// So are their vectors in memory, masked ones and constants too.
// CHECK-LABEL: llvm.func @masked
// CHECK:         llvm.mlir.constant(dense<16256> : vector<8xi16>) : vector<8xi16>
// CHECK:         llvm.call_intrinsic "llvm.masked.store.v8i16.p0"
func.func @masked(%y: memref<8xbf16>, %m: vector<8xi1>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : vector<8xbf16>
  vector.maskedstore %y[%c0], %m, %one : memref<8xbf16>, vector<8xi1>, vector<8xbf16>
  func.return
}

// A sign is one bit.
// CHECK-LABEL: llvm.func @minus
// CHECK:         llvm.xor %{{.*}}, %{{.*}} : i16
// CHECK-NEXT:    llvm.return
func.func @minus(%a: f16) -> f16 {
  %r = arith.negf %a : f16
  func.return %r : f16
}

// f16 is converted by its bits where the CPU can't; --cpu and `has ["half"]` say what it can.
// CHECK-LABEL: llvm.func @narrow
// CHECK-NOT:     llvm.fptrunc
// CHECK:         llvm.trunc %{{.*}} : i32 to i16
func.func @narrow(%a: f32) -> f16 {
  %r = arith.truncf %a : f32 to f16
  func.return %r : f16
}

// The declaration of the library function above.
// CHECK:       llvm.func @cbrt(f64) -> f64 attributes {{.*}}passthrough = ["nounwind", "willreturn", "memory(none)"]
