// RUN: mini-opt %s -p lower-to-llvm{vector_bits=512} | filecheck %s

// A loop tests at its end; in front of it where it may run no times.
// CHECK-LABEL: llvm.func @sum
// CHECK-SAME:    (%[[N:.*]]: i64) -> i64
// CHECK:         %[[SOME:.*]] = llvm.icmp "slt" %[[ZERO:.*]], %[[N]]
// CHECK-NEXT:    llvm.cond_br %[[SOME]], ^[[BODY:.*]](%[[ZERO]], %[[ZERO]] : i64, i64), ^[[EXIT:.*]](%[[ZERO]] : i64)
// CHECK-NEXT:  ^[[BODY]](%[[I:.*]]: i64, %[[A:.*]]: i64):
// CHECK-NEXT:    %[[B:.*]] = llvm.add %[[A]], %[[I]]
// CHECK-NEXT:    %[[NEXT:.*]] = llvm.add %[[I]], %{{.*}} overflow<nsw>
// CHECK-NEXT:    %[[MORE:.*]] = llvm.icmp "slt" %[[NEXT]], %[[N]]
// CHECK-NEXT:    llvm.cond_br %[[MORE]], ^[[BODY]](%[[NEXT]], %[[B]] : i64, i64), ^[[EXIT]](%[[B]] : i64)
// CHECK-NEXT:  ^[[EXIT]](%[[R:.*]]: i64):
// CHECK-NEXT:    llvm.return %[[R]]
func.func @sum(%n: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %c0) -> (index) {
    %b = arith.addi %a, %i : index
    scf.yield %b : index
  }
  func.return %r : index
}

// Once is no loop, and never is nothing.
// CHECK-LABEL: llvm.func @known_trip_counts
// CHECK-NOT:     br
// CHECK:         llvm.return
func.func @known_trip_counts(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %one = arith.constant 1.0 : f32
  scf.for %i = %c0 to %c8 step %c8 {
    memref.store %one, %x[%i] : memref<8xf32>
  }
  scf.for %i = %c8 to %c8 step %c8 {
    memref.store %one, %x[%i] : memref<8xf32>
  }
  func.return
}

// CHECK-LABEL: llvm.func @branch
// CHECK-SAME:    (%[[C:.*]]: i1, %[[A:.*]]: f32, %[[B:.*]]: f32)
// CHECK:         llvm.cond_br %[[C]], ^[[THEN:.*]], ^[[ELSE:.*]]
// CHECK-NEXT:  ^[[THEN]]:
// CHECK-NEXT:    llvm.br ^[[AFTER:.*]](%[[A]] : f32)
// CHECK-NEXT:  ^[[ELSE]]:
// CHECK-NEXT:    llvm.br ^[[AFTER]](%[[B]] : f32)
// CHECK-NEXT:  ^[[AFTER]](%[[R:.*]]: f32):
func.func @branch(%c: i1, %a: f32, %b: f32) -> f32 {
  %r = scf.if %c -> (f32) {
    scf.yield %a : f32
  } else {
    scf.yield %b : f32
  }
  func.return %r : f32
}

// Private functions own their memory; a public one that calls others may be called by several threads.
// CHECK:       llvm.func internal @kernel(%{{.*}}: !llvm.ptr {llvm.noalias, llvm.nocapture})
// CHECK-SAME:    passthrough = ["nounwind", "noinline", ["prefer-vector-width", "512"]]
func.func private @kernel(%x: memref<8xf32>) attributes {llvm.noinline} {
  func.return
}
// CHECK:       llvm.func @share_stage_0(!llvm.ptr, i64) attributes {{.*}}passthrough = ["nounwind"]
func.func private @share_stage_0(memref<2xi64>, index)
// CHECK:       llvm.func @main(%[[X:.*]]: !llvm.ptr, %[[TEAM:.*]]: !llvm.ptr, %[[N:.*]]: i64)
// CHECK:         llvm.call @kernel(%[[X]]) : (!llvm.ptr) -> ()
// CHECK-NEXT:    llvm.call @share_stage_0(%[[TEAM]], %[[N]]) : (!llvm.ptr, i64) -> ()
func.func @main(%x: memref<8xf32>, %team: memref<2xi64>, %shares: index) {
  func.call @kernel(%x) : (memref<8xf32>) -> ()
  func.call @share_stage_0(%team, %shares) : (memref<2xi64>, index) -> ()
  func.return
}

// LLVM leaves a loop as it is that is around a long one; what runs a few times only, it may unroll.
// CHECK-LABEL: llvm.func @around_a_loop
// CHECK:         llvm.store
// CHECK:         llvm.cond_br %{{.*}}, ^[[INNER:.*]](%{{.*}} : i64), ^[[AFTER:[a-z0-9]*]]
// CHECK-NEXT:  ^[[AFTER]]:
// CHECK:         llvm.cond_br {{.*}} {loop_annotation = {unroll = 1 : i64, vectorize = 1 : i64}}
// CHECK-LABEL: llvm.func @around_few_trips
// CHECK-NOT:     loop_annotation
// CHECK:         llvm.return
func.func @around_a_loop(%x: memref<16x16xf32>, %one: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    scf.for %j = %c0 to %c16 step %c1 {
      memref.store %one, %x[%i, %j] : memref<16x16xf32>
    }
  }
  func.return
}
func.func @around_few_trips(%x: memref<16x3xf32>, %one: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    scf.for %j = %c0 to %c3 step %c1 {
      memref.store %one, %x[%i, %j] : memref<16x3xf32>
    }
  }
  func.return
}
