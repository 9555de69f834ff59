// RUN: mini-opt %s | mini-opt - | filecheck %s

// The repaired operations print and parse, on vectors too.
// CHECK-LABEL: @arith
// CHECK-NEXT:    %[[C:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} fastmath<nnan> : vector<16xf32>
// CHECK-NEXT:    arith.cmpi slt, %{{.*}}, %{{.*}} : vector<16xi32>
// CHECK-NEXT:    arith.select %[[C]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK-NEXT:    %[[B:.*]] = arith.cmpi uge, %{{.*}}, %{{.*}} : index
// CHECK-NEXT:    arith.select %[[B]], %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-NEXT:    arith.sitofp %{{.*}} : vector<16xi32> to vector<16xf32>
// CHECK-NEXT:    arith.fptoui %{{.*}} : vector<16xf32> to vector<16xi8>
// CHECK-NEXT:    arith.extui %{{.*}} : vector<16xi32> to vector<16xi64>
// CHECK-NEXT:    arith.index_cast %{{.*}} : vector<16xi32> to vector<16xindex>
// CHECK-NEXT:    arith.remf %{{.*}}, %{{.*}} : vector<16xf32>
func.func @arith(%v: vector<16xf32>, %i: vector<16xi32>, %n: index) {
  %0 = arith.cmpf olt, %v, %v fastmath<nnan> : vector<16xf32>
  %1 = arith.cmpi slt, %i, %i : vector<16xi32>
  %2 = arith.select %0, %v, %v : vector<16xi1>, vector<16xf32>
  %3 = arith.cmpi uge, %n, %n : index
  %4 = arith.select %3, %v, %v : vector<16xf32>
  %5 = arith.sitofp %i : vector<16xi32> to vector<16xf32>
  %6 = arith.fptoui %v : vector<16xf32> to vector<16xi8>
  %7 = arith.extui %i : vector<16xi32> to vector<16xi64>
  %8 = arith.index_cast %i : vector<16xi32> to vector<16xindex>
  %9 = arith.remf %v, %v : vector<16xf32>
  func.return
}

// CHECK-LABEL: @vector
// CHECK-NEXT:    vector.step : vector<16xindex>
// CHECK-NEXT:    vector.constant_mask [5] : vector<16xi1>
// CHECK-NEXT:    vector.reduction <maximumf>, %{{.*}}, %{{.*}} fastmath<nnan> : vector<16xf32> into f32
// CHECK-NEXT:    memref.prefetch %{{.*}}[%{{.*}}, %{{.*}}], read, locality<3>, data : memref<4x16xf32>
// CHECK-NEXT:    memref.prefetch %{{.*}}[%{{.*}}, %{{.*}}], write, locality<0>, instr : memref<4x16xf32>
func.func @vector(%v: vector<16xf32>, %x: f32, %m: memref<4x16xf32>, %i: index) {
  %0 = vector.step : vector<16xindex>
  %1 = vector.constant_mask [5] : vector<16xi1>
  %2 = vector.reduction <maximumf>, %v, %x fastmath<nnan> : vector<16xf32> into f32
  memref.prefetch %m[%i, %i], read, locality<3>, data : memref<4x16xf32>
  memref.prefetch %m[%i, %i], write, locality<0>, instr : memref<4x16xf32>
  func.return
}

// CHECK-LABEL: @llvm
// CHECK-NEXT:    %[[C:.*]] = llvm.fcmp "olt" %{{.*}}, %{{.*}} {fastmathFlags = #llvm.fastmath<nnan>} : vector<16xf32>
// CHECK-NEXT:    llvm.select %[[C]], %{{.*}}, %{{.*}} : vector<16xi1>, vector<16xf32>
// CHECK-NEXT:    llvm.mlir.poison : vector<16xf32>
// CHECK-NEXT:    llvm.extractelement %{{.*}}[%{{.*}} : i64] : vector<16xf32>
// CHECK-NEXT:    llvm.fptosi %{{.*}} : vector<16xf32> to vector<16xi32>
func.func @llvm(%v: vector<16xf32>, %i: i64) {
  %0 = llvm.fcmp "olt" %v, %v {fastmathFlags = #llvm.fastmath<nnan>} : vector<16xf32>
  %1 = llvm.select %0, %v, %v : vector<16xi1>, vector<16xf32>
  %2 = llvm.mlir.poison : vector<16xf32>
  %3 = llvm.extractelement %v[%i : i64] : vector<16xf32>
  %4 = llvm.fptosi %v : vector<16xf32> to vector<16xi32>
  func.return
}

// Floats that are written as their bits keep their value.
// CHECK-LABEL: @bits
// CHECK-NEXT:    arith.constant dense<[0x7f800000, 0xff800000, 0x7fc00000, 0x4B400000]> : vector<4xf32>
// CHECK-NEXT:    arith.constant dense<0x7c00> : vector<4xf16>
func.func @bits() {
  %0 = arith.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 12582912.0]> : vector<4xf32>
  %1 = arith.constant dense<0x7C00> : vector<4xf16>
  func.return
}
