// RUN: mini-opt %s -t cuda | filecheck %s

gpu.module @kernels {
  // Integers wrap around; indices, and what says that it doesn't overflow, are plain sums. Narrow ones stay narrow.
  // CHECK-LABEL: void integers(
  // CHECK:         const int a = x[i];
  // CHECK-NEXT:    x[i + 1] = wrapping_add(wrapping_mul(a, 3), a);
  // CHECK-NEXT:    x[i + 2] = a + 3;
  // CHECK-NEXT:    x[i + 3] = smaller(a, 3) ^ (a << 3);
  // CHECK-NEXT:    x[i + 4] = divu(a, 3);
  // CHECK-NEXT:    x[i + 5] = a / 3;
  // CHECK-NEXT:    n[i] = i8(n[i] >> i8(5));
  gpu.func @integers(%x: memref<64xi32>, %n: memref<64xi8>) kernel {
    %i = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c5 = arith.constant 5 : index
    %three = arith.constant 3 : i32
    %five = arith.constant 5 : i8
    %i1 = arith.addi %i, %c1 : index
    %i2 = arith.addi %i, %c2 : index
    %i3 = arith.addi %i, %c3 : index
    %i4 = arith.addi %i, %c4 : index
    %i5 = arith.addi %i, %c5 : index
    %a = memref.load %x[%i] : memref<64xi32>
    %0 = arith.muli %a, %three : i32
    %1 = arith.addi %0, %a : i32
    memref.store %1, %x[%i1] : memref<64xi32>
    %2 = arith.addi %a, %three overflow<nsw> : i32
    memref.store %2, %x[%i2] : memref<64xi32>
    %3 = arith.minsi %a, %three : i32
    %4 = arith.shli %a, %three : i32
    %5 = arith.xori %3, %4 : i32
    memref.store %5, %x[%i3] : memref<64xi32>
    %6 = arith.divui %a, %three : i32
    memref.store %6, %x[%i4] : memref<64xi32>
    %7 = arith.divsi %a, %three : i32
    memref.store %7, %x[%i5] : memref<64xi32>
    %8 = memref.load %n[%i] : memref<64xi8>
    %9 = arith.shrsi %8, %five : i8
    memref.store %9, %n[%i] : memref<64xi8>
    gpu.return
  }

  // Comparisons of numbers without a sign read them so; those of floats hold for NaN where their names say.
  // CHECK-LABEL: void comparisons(
  // CHECK:         const bool inside = u32(i) < 9u && i > 0;
  // CHECK-NEXT:    const float a = x[i];
  // CHECK-NEXT:    t[i] = inside && !(a >= 2.0f);
  // CHECK-NEXT:    t[i] = a != a || inside != (a == 2.0f);
  // CHECK-NEXT:    const float b = x[i];
  // CHECK-NEXT:    x[i] = inside ? a * 2.0f : b;
  gpu.func @comparisons(%x: memref<64xf32>, %t: memref<64xi1>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c9 = arith.constant 9 : index
    %two = arith.constant 2.0 : f32
    %0 = arith.cmpi ult, %i, %c9 : index
    %1 = arith.cmpi sgt, %i, %c0 : index
    %inside = arith.andi %0, %1 : i1
    %a = memref.load %x[%i] : memref<64xf32>
    %2 = arith.cmpf ult, %a, %two : f32
    %3 = arith.andi %inside, %2 : i1
    memref.store %3, %t[%i] : memref<64xi1>
    %4 = arith.cmpf uno, %a, %a : f32
    %5 = arith.cmpf oeq, %a, %two : f32
    %6 = arith.xori %inside, %5 : i1
    %7 = arith.ori %4, %6 : i1
    memref.store %7, %t[%i] : memref<64xi1>
    %b = memref.load %x[%i] : memref<64xf32>
    %8 = arith.mulf %a, %two : f32
    %9 = arith.select %inside, %8, %b : f32
    memref.store %9, %x[%i] : memref<64xf32>
    gpu.return
  }

  // Parentheses are where the order of operations needs them, and nowhere else.
  // CHECK-LABEL: void precedence(
  // CHECK:         x[i] = -(a - (a + 0.1f)) * (a / (a * 1e-40f));
  gpu.func @precedence(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %tenth = arith.constant 0.1 : f32
    %tiny = arith.constant 1.0e-40 : f32
    %a = memref.load %x[%i] : memref<64xf32>
    %0 = arith.addf %a, %tenth : f32
    %1 = arith.subf %a, %0 : f32
    %2 = arith.negf %1 : f32
    %3 = arith.mulf %a, %tiny : f32
    %4 = arith.divf %a, %3 : f32
    %5 = arith.mulf %2, %4 : f32
    memref.store %5, %x[%i] : memref<64xf32>
    gpu.return
  }

  // 16-bit floats are computed on as float, and rounded after each operation.
  // CHECK-LABEL: void halves(
  // CHECK:         const f16 a = h[i];
  // CHECK-NEXT:    const f16 sum = to_f16(to_f32(to_f16(to_f32(a) * to_f32(a))) + to_f32(f16{0x3c00}));
  // CHECK-NEXT:    h[i] = sum;
  // CHECK-NEXT:    b[i] = to_bf16(to_f32(a));
  // CHECK-NEXT:    n[i] = int(to_f32(b[i]));
  gpu.func @halves(%h: memref<64xf16>, %b: memref<64xbf16>, %n: memref<64xi32>) kernel {
    %i = gpu.thread_id x
    %one = arith.constant 1.0 : f16
    %a = memref.load %h[%i] : memref<64xf16>
    %0 = arith.mulf %a, %a : f16
    %1 = arith.addf %0, %one : f16
    memref.store %1, %h[%i] : memref<64xf16>
    %2 = arith.extf %a : f16 to f32
    %3 = arith.truncf %2 : f32 to bf16
    memref.store %3, %b[%i] : memref<64xbf16>
    %4 = memref.load %b[%i] : memref<64xbf16>
    %5 = arith.fptosi %4 : bf16 to i32
    memref.store %5, %n[%i] : memref<64xi32>
    gpu.return
  }

  // Conversions; one bit is -1 where it has a sign.
  // CHECK-LABEL: void conversions(
  // CHECK:         const i8 a = n[i];
  // CHECK-NEXT:    w[i] = i64(a);
  // CHECK-NEXT:    w[i] = i64(u8(a));
  // CHECK-NEXT:    n[i] = i8(w[i]);
  // CHECK-NEXT:    const bool t = (a & 1) != 0;
  // CHECK-NEXT:    w[i] = i64(-int(t));
  // CHECK-NEXT:    w[int(w[i])] = i64(t);
  // CHECK-NEXT:    f[i] = float(u8(a)) + bits_as<float>(int(a));
  gpu.func @conversions(%n: memref<64xi8>, %w: memref<64xi64>, %f: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %a = memref.load %n[%i] : memref<64xi8>
    %0 = arith.extsi %a : i8 to i64
    memref.store %0, %w[%i] : memref<64xi64>
    %1 = arith.extui %a : i8 to i64
    memref.store %1, %w[%i] : memref<64xi64>
    %2 = memref.load %w[%i] : memref<64xi64>
    %3 = arith.trunci %2 : i64 to i8
    memref.store %3, %n[%i] : memref<64xi8>
    %t = arith.trunci %a : i8 to i1
    %4 = arith.extsi %t : i1 to i64
    memref.store %4, %w[%i] : memref<64xi64>
    %5 = memref.load %w[%i] : memref<64xi64>
    %6 = arith.index_cast %5 : i64 to index
    %7 = arith.extui %t : i1 to i64
    memref.store %7, %w[%6] : memref<64xi64>
    %8 = arith.uitofp %a : i8 to f32
    %9 = arith.extsi %a : i8 to i32
    %10 = arith.bitcast %9 : i32 to f32
    %11 = arith.addf %8, %10 : f32
    memref.store %11, %f[%i] : memref<64xf32>
    gpu.return
  }

  // Numbers that have no digits of their own, and the smallest integers.
  // CHECK-LABEL: void constants(
  // CHECK:         f[0] = -infinity();
  // CHECK-NEXT:    f[1] = not_a_number();
  // CHECK-NEXT:    f[2] = -0.0f;
  // CHECK-NEXT:    f[3] = 16777216.0f;
  // CHECK-NEXT:    d[0] = 0.1;
  // CHECK-NEXT:    d[1] = double(infinity());
  // CHECK-NEXT:    n[0] = (-2147483647 - 1);
  gpu.func @constants(%f: memref<4xf32>, %d: memref<2xf64>, %n: memref<1xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %0 = arith.constant 0xFF800000 : f32
    %1 = arith.constant 0x7FC00000 : f32
    %2 = arith.constant -0.0 : f32
    %3 = arith.constant 16777216.0 : f32
    %4 = arith.constant 0.1 : f64
    %5 = arith.constant 0x7FF0000000000000 : f64
    %6 = arith.constant -2147483648 : i32
    memref.store %0, %f[%c0] : memref<4xf32>
    memref.store %1, %f[%c1] : memref<4xf32>
    memref.store %2, %f[%c2] : memref<4xf32>
    memref.store %3, %f[%c3] : memref<4xf32>
    memref.store %4, %d[%c0] : memref<2xf64>
    memref.store %5, %d[%c1] : memref<2xf64>
    memref.store %6, %n[%c0] : memref<1xi32>
    gpu.return
  }

  // Functions of the maths library, by the type that they take.
  // CHECK-LABEL: void functions(
  // CHECK:         x[i] = fmaf(expf(a), rsqrtf(a), powf(a, 0.3f));
  // CHECK-NEXT:    d[i] = maximum(rint(d[i]), double(infinity()));
  gpu.func @functions(%x: memref<64xf32>, %d: memref<64xf64>) kernel {
    %i = gpu.thread_id x
    %inf = arith.constant 0x7FF0000000000000 : f64
    %third = arith.constant 0.3 : f32
    %a = memref.load %x[%i] : memref<64xf32>
    %0 = math.exp %a : f32
    %1 = math.rsqrt %a : f32
    %2 = math.powf %a, %third : f32
    %3 = math.fma %0, %1, %2 : f32
    memref.store %3, %x[%i] : memref<64xf32>
    %4 = memref.load %d[%i] : memref<64xf64>
    %5 = math.roundeven %4 : f64
    %6 = arith.maximumf %5, %inf : f64
    memref.store %6, %d[%i] : memref<64xf64>
    gpu.return
  }
}
