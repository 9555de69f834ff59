// RUN: mini-opt %s -p cse,dce | filecheck %s

// Loads that nobody uses go, and of equal ones without a store between them one is kept.
// CHECK-LABEL: @loads
// CHECK:         %[[A:.*]] = vector.load
// CHECK-NEXT:    %[[B:.*]] = arith.addf %[[A]], %[[A]]
// CHECK-NEXT:    vector.store %[[B]]
// CHECK-NEXT:    %[[C:.*]] = vector.load
// CHECK-NEXT:    func.return %[[C]]
func.func @loads(%m: memref<8xf32>) -> vector<4xf32> {
  %i = arith.constant 0 : index
  %unused = vector.load %m[%i] : memref<8xf32>, vector<8xf32>
  %a = vector.load %m[%i] : memref<8xf32>, vector<4xf32>
  %again = vector.load %m[%i] : memref<8xf32>, vector<4xf32>
  %b = arith.addf %a, %again : vector<4xf32>
  vector.store %b, %m[%i] : memref<8xf32>, vector<4xf32>
  %c = vector.load %m[%i] : memref<8xf32>, vector<4xf32>
  func.return %c : vector<4xf32>
}

// Stores and prefetches stay.
// CHECK-LABEL: @writes
// CHECK:         vector.maskedstore
// CHECK-NEXT:    memref.prefetch
// CHECK-NEXT:    memref.prefetch
func.func @writes(%m: memref<8xf32>, %v: vector<4xf32>, %i: index) {
  %mask = vector.create_mask %i : vector<4xi1>
  %same = vector.create_mask %i : vector<4xi1>
  vector.maskedstore %m[%i], %same, %v : memref<8xf32>, vector<4xi1>, vector<4xf32>
  memref.prefetch %m[%i], read, locality<3>, data : memref<8xf32>
  memref.prefetch %m[%i], read, locality<3>, data : memref<8xf32>
  func.return
}
