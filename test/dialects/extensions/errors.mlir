// RUN: mini-opt %s --split-input-file --verify-diagnostics

func.func @f(%a: i32) {
  // expected-error @below {{i16 is not a wider integer than i32}}
  %b = arith.extsi %a : i32 to i16
  func.return
}

// -----

func.func @f(%a: vector<4xi32>) {
  // expected-error @below {{expected scalars or vectors of the same shape}}
  %b = arith.sitofp %a : vector<4xi32> to vector<8xf32>
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{expected index on one side}}
  %b = arith.index_cast %a : i32 to i64
  func.return
}

// -----

func.func @f() {
  // expected-error @below {{mask sizes [9] don't fit}}
  %b = vector.constant_mask [9] : vector<8xi1>
  func.return
}

// -----

func.func @f(%m: memref<4x4xf32>, %i: index) {
  // expected-error @below {{expected 2 indices, got 1}}
  memref.prefetch %m[%i], read, locality<3>, data : memref<4x4xf32>
  func.return
}

// -----

func.func @f(%m: memref<4xf32>, %i: index) {
  // expected-error @below {{expected a locality from 0 to 3}}
  memref.prefetch %m[%i], read, locality<4>, data : memref<4xf32>
  func.return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{expected one of eq, ne, slt}}
  %b = arith.cmpi less, %a, %a : i32
  func.return
}
