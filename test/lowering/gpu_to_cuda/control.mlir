// RUN: mini-opt %s -t cuda | filecheck %s

gpu.module @kernels {
  // What a loop carries are variables; they are its results behind it.
  // CHECK-LABEL: void loops(
  // CHECK:         float total = 0.0f;
  // CHECK-NEXT:    for (int k = 0; k < 64; ++k) {
  // CHECK-NEXT:      total += x[k];
  // CHECK-NEXT:    }
  // CHECK-NEXT:    x[i] = total;
  gpu.func @loops(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    %sum = scf.for %k = %c0 to %c64 step %c1 iter_args(%total = %zero) -> (f32) {
      %0 = memref.load %x[%k] : memref<64xf32>
      %1 = arith.addf %total, %0 : f32
      scf.yield %1 : f32
    }
    memref.store %sum, %x[%i] : memref<64xf32>
    gpu.return
  }

  // Loops are unrolled as they ask for; names are free again behind the braces. A bound is computed once.
  // CHECK-LABEL: void unrolled(
  // CHECK:         #pragma unroll
  // CHECK-NEXT:    for (int k = 0; k < 4; ++k) {
  // CHECK:         #pragma unroll 2
  // CHECK-NEXT:    for (int k = i; k < 64; k += 4) {
  // CHECK:         const int most = larger(i, 4);
  // CHECK-NEXT:    #pragma unroll 1
  // CHECK-NEXT:    for (int k = 0; k < most; ++k) {
  gpu.func @unrolled(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant 0.0 : f32
    scf.for %k = %c0 to %c4 step %c1 {
      memref.store %zero, %x[%k] : memref<64xf32>
    } {unroll}
    scf.for %k = %i to %c64 step %c4 {
      memref.store %zero, %x[%k] : memref<64xf32>
    } {unroll = 2}
    %most = arith.maxsi %i, %c4 : index
    scf.for %k = %c0 to %most step %c1 {
      memref.store %zero, %x[%k] : memref<64xf32>
    } {loop_annotation = {unroll = 1 : i64}}
    gpu.return
  }

  // Values that are handed on together are set at once: what still needs an old one is put aside.
  // CHECK-LABEL: void swapped(
  // CHECK:         for (int k = 0; k < 4; ++k) {
  // CHECK-NEXT:      const int next_b = wrapping_add(a, b);
  // CHECK-NEXT:      a = b;
  // CHECK-NEXT:      b = next_b;
  // CHECK-NEXT:    }
  gpu.func @swapped(%x: memref<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %0, %1 = scf.for %k = %c0 to %c4 step %c1 iter_args(%a = %zero, %b = %one) -> (i32, i32) {
      %2 = arith.addi %a, %b : i32
      scf.yield %b, %2 : i32, i32
    }
    memref.store %0, %x[%c0] : memref<64xi32>
    gpu.return
  }

  // CHECK-LABEL: void branches(
  // CHECK:         float chosen;
  // CHECK-NEXT:    if (i < 4) {
  // CHECK-NEXT:      chosen = x[i + 1];
  // CHECK-NEXT:    } else {
  // CHECK-NEXT:      chosen = 0.0f;
  // CHECK-NEXT:    }
  // CHECK-NEXT:    if (i == 0) {
  // CHECK-NEXT:      x[i] = chosen;
  // CHECK-NEXT:    }
  // CHECK-NEXT:  }
  gpu.func @branches(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %few = arith.cmpi slt, %i, %c4 : index
    %chosen = scf.if %few -> (f32) {
      %next = arith.addi %i, %c1 : index
      %0 = memref.load %x[%next] : memref<64xf32>
      scf.yield %0 : f32
    } else {
      scf.yield %zero : f32
    }
    %first = arith.cmpi eq, %i, %c0 : index
    scf.if %first {
      memref.store %chosen, %x[%i] : memref<64xf32>
    }
    gpu.return
  }

  // A while loop is left behind what computes its condition.
  // CHECK-LABEL: void until(
  // CHECK:         int a = 1;
  // CHECK-NEXT:    int r;
  // CHECK-NEXT:    while (true) {
  // CHECK-NEXT:      const bool more = a < 100;
  // CHECK-NEXT:      r = wrapping_mul(a, 3);
  // CHECK-NEXT:      if (!more) break;
  // CHECK-NEXT:      a = r;
  // CHECK-NEXT:    }
  // CHECK-NEXT:    x[0] = r;
  gpu.func @until(%x: memref<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %one = arith.constant 1 : i32
    %three = arith.constant 3 : i32
    %hundred = arith.constant 100 : i32
    %r = scf.while (%a = %one) : (i32) -> i32 {
      %more = arith.cmpi slt, %a, %hundred : i32
      %next = arith.muli %a, %three : i32
      scf.condition(%more) %next : i32
    } do {
    ^bb0(%b: i32):
      scf.yield %b : i32
    }
    memref.store %r, %x[%c0] : memref<64xi32>
    gpu.return
  }
}
