// RUN: mini-opt %s -t cuda | filecheck %s

gpu.module @kernels {
  // One access for a vector; arithmetic goes lane by lane, as many operations in a line as fit it.
  // CHECK-LABEL: void lane_by_lane(
  // CHECK:         const vec<float, 4> a = load<4>(&x[i * 4]);
  // CHECK-NEXT:    const float s = x[i];
  // CHECK-NEXT:    vec<float, 4> r;
  // CHECK-NEXT:    EACH_LANE(4) r[lane] = fmaf(a[lane] * s, a[lane], 2.0f) + expf(a[lane]);
  // CHECK-NEXT:    store(&x[i * 4], r);
  // CHECK-NEXT:    store(x, splat<4>(0.0f));
  gpu.func @lane_by_lane(%x: memref<256xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %two = arith.constant dense<2.0> : vector<4xf32>
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %at = arith.muli %i, %c4 : index
    %a = vector.load %x[%at] : memref<256xf32>, vector<4xf32>
    %s = memref.load %x[%i] : memref<256xf32>
    %all = vector.broadcast %s : f32 to vector<4xf32>
    %0 = arith.mulf %a, %all : vector<4xf32>
    %1 = vector.fma %0, %a, %two : vector<4xf32>
    %2 = math.exp %a : vector<4xf32>
    %r = arith.addf %1, %2 : vector<4xf32>
    %again = arith.muli %i, %c4 : index
    vector.store %r, %x[%again] : memref<256xf32>, vector<4xf32>
    vector.store %zero, %x[%c0] : memref<256xf32>, vector<4xf32>
    gpu.return
  }

  // Lanes are taken, put and moved by their numbers; lanes put one by one are a vector at once.
  // CHECK-LABEL: void lanes(
  // CHECK:         const vec<float, 4> a = load<4>(x);
  // CHECK-NEXT:    store(&x[4], vec<float, 4>{a[3], a[3], a[0], a[1]});
  // CHECK-NEXT:    vec<float, 4> b = a;
  // CHECK-NEXT:    b[1] = a[i];
  // CHECK-NEXT:    store(&x[8], b);
  // CHECK-NEXT:    store(&x[4], vec<float, 2>{a[1], a[0] + a[2]});
  gpu.func @lanes(%x: memref<256xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c8 = arith.constant 8 : index
    %none = arith.constant dense<0.0> : vector<2xf32>
    %a = vector.load %x[%c0] : memref<256xf32>, vector<4xf32>
    %0 = vector.shuffle %a, %a [3, 7, 4, 1] : vector<4xf32>, vector<4xf32>
    vector.store %0, %x[%c4] : memref<256xf32>, vector<4xf32>
    %1 = vector.extract %a[%i] : f32 from vector<4xf32>
    %b = vector.insert %1, %a [1] : f32 into vector<4xf32>
    vector.store %b, %x[%c8] : memref<256xf32>, vector<4xf32>
    %2 = vector.extract %a[0] : f32 from vector<4xf32>
    %3 = vector.extract %a[1] : f32 from vector<4xf32>
    %4 = vector.extract %a[2] : f32 from vector<4xf32>
    %5 = arith.addf %2, %4 : f32
    %6 = vector.insert %3, %none [0] : f32 into vector<2xf32>
    %7 = vector.insert %5, %6 [1] : f32 into vector<2xf32>
    vector.store %7, %x[%c4] : memref<256xf32>, vector<2xf32>
    gpu.return
  }

  // A reduction joins halves with halves.
  // CHECK-LABEL: void reductions(
  // CHECK:         const vec<float, 4> a = load<4>(x);
  // CHECK-NEXT:    x[0] = a[0] + a[1] + (a[2] + a[3]);
  // CHECK-NEXT:    x[1] = maximum(x[0], maximum(maximum(a[0], a[1]), maximum(a[2], a[3])));
  gpu.func @reductions(%x: memref<256xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %a = vector.load %x[%c0] : memref<256xf32>, vector<4xf32>
    %0 = vector.reduction <add>, %a : vector<4xf32> into f32
    memref.store %0, %x[%c0] : memref<256xf32>
    %1 = memref.load %x[%c0] : memref<256xf32>
    %2 = vector.reduction <maximumf>, %a, %1 : vector<4xf32> into f32
    memref.store %2, %x[%c1] : memref<256xf32>
    gpu.return
  }

  // Truth values are bytes in memory; bits are read as lanes of another width.
  // CHECK-LABEL: void other_types(
  // CHECK:         const vec<u8, 4> bytes = load<4>(t);
  // CHECK-NEXT:    vec<u8, 4> bytes2;
  // CHECK-NEXT:    EACH_LANE(4) bytes2[lane] = !(bytes[lane] != 0);
  // CHECK-NEXT:    store(&t[4], bytes2);
  // CHECK-NEXT:    store(h, bits_as<vec<f16, 4>>(load<2>(n)));
  gpu.func @other_types(%t: memref<64xi1>, %n: memref<64xi32>, %h: memref<64xf16>) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %true = arith.constant dense<true> : vector<4xi1>
    %0 = vector.load %t[%c0] : memref<64xi1>, vector<4xi1>
    %1 = arith.xori %0, %true : vector<4xi1>
    vector.store %1, %t[%c4] : memref<64xi1>, vector<4xi1>
    %2 = vector.load %n[%c0] : memref<64xi32>, vector<2xi32>
    %3 = vector.bitcast %2 : vector<2xi32> to vector<4xf16>
    vector.store %3, %h[%c0] : memref<64xf16>, vector<4xf16>
    gpu.return
  }

  // A vector that a loop carries is a variable too.
  // CHECK-LABEL: void carried(
  // CHECK:         vec<float, 4> sum = splat<4>(0.0f);
  // CHECK-NEXT:    for (int k = 0; k < 64; k += 4) {
  // CHECK-NEXT:      const vec<float, 4> a = load<4>(&x[k]);
  // CHECK-NEXT:      EACH_LANE(4) sum[lane] += a[lane];
  // CHECK-NEXT:    }
  // CHECK-NEXT:    store(x, sum);
  gpu.func @carried(%x: memref<64xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c64 = arith.constant 64 : index
    %zero = arith.constant dense<0.0> : vector<4xf32>
    %r = scf.for %k = %c0 to %c64 step %c4 iter_args(%sum = %zero) -> (vector<4xf32>) {
      %a = vector.load %x[%k] : memref<64xf32>, vector<4xf32>
      %0 = arith.addf %sum, %a : vector<4xf32>
      scf.yield %0 : vector<4xf32>
    }
    vector.store %r, %x[%c0] : memref<64xf32>, vector<4xf32>
    gpu.return
  }
}
