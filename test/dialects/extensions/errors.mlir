// RUN: mini-opt %s --split-input-file --verify-diagnostics | filecheck %s

// CHECK: i16 is not a wider integer than i32
func.func @f(%a: i32) {
  %b = arith.extsi %a : i32 to i16
  func.return
}

// -----

// CHECK: expected scalars or vectors of the same shape
func.func @f(%a: vector<4xi32>) {
  %b = arith.sitofp %a : vector<4xi32> to vector<8xf32>
  func.return
}

// -----

// CHECK: expected index on one side
func.func @f(%a: i32) {
  %b = arith.index_cast %a : i32 to i64
  func.return
}

// -----

// CHECK: mask sizes [9] don't fit
func.func @f() {
  %b = vector.constant_mask [9] : vector<8xi1>
  func.return
}

// -----

// CHECK: expected 2 indices, got 1
func.func @f(%m: memref<4x4xf32>, %i: index) {
  memref.prefetch %m[%i], read, locality<3>, data : memref<4x4xf32>
  func.return
}
