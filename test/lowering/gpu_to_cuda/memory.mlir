// RUN: mini-opt %s --split-input-file -t cuda | filecheck %s

gpu.module @kernels {
  // What reads memory is written before what may change it, and not before: the last is read again.
  // CHECK-LABEL: void order(
  // CHECK:         const float b = x[next];
  // CHECK-NEXT:    x[i] += 1.0f;
  // CHECK-NEXT:    x[next] = b + x[i];
  gpu.func @order(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %one = arith.constant 1.0 : f32
    %next = arith.addi %i, %c1 : index
    %a = memref.load %x[%i] : memref<64xf32>
    %b = memref.load %x[%next] : memref<64xf32>
    %0 = arith.addf %a, %one : f32
    memref.store %0, %x[%i] : memref<64xf32>
    %c = memref.load %x[%i] : memref<64xf32>
    %1 = arith.addf %b, %c : f32
    memref.store %1, %x[%next] : memref<64xf32>
    gpu.return
  }

  // Strides and constants are folded into one index. Truth values are bytes, of which any but 0 is true.
  // CHECK-LABEL: void addresses(const float* x, float* y, u8* t) {
  // CHECK:         y[(i + 1) * 8 + 3] = x[(i + 2) * 16 + 9];
  // CHECK-NEXT:    t[i] = !(t[i + 8] != 0);
  gpu.func @addresses(%x: memref<4x8x16xf32, strided<[128, 16, 1], offset: ?>>, %y: memref<64x8xf32>, %t: memref<64xi1>)
      kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %c9 = arith.constant 9 : index
    %true = arith.constant true
    %at = arith.addi %i, %c2 : index
    %row = arith.addi %i, %c1 : index
    %0 = memref.load %x[%c0, %at, %c9] : memref<4x8x16xf32, strided<[128, 16, 1], offset: ?>>
    memref.store %0, %y[%row, %c3] : memref<64x8xf32>
    %other = arith.addi %i, %c8 : index
    %1 = memref.load %t[%other] : memref<64xi1>
    %2 = arith.xori %1, %true : i1
    memref.store %2, %t[%i] : memref<64xi1>
    gpu.return
  }

  // Shared memory is one array of bytes; what is in it are pointers.
  // CHECK-LABEL: void shared_memory(
  // CHECK:         SHARED_MEMORY(shared);
  // CHECK-NEXT:    float* const tile = reinterpret_cast<float*>(shared);
  // CHECK-NEXT:    const f16* const rest = reinterpret_cast<const f16*>(shared + 4224);
  // CHECK-NEXT:    tile[i * 132 + 2] = to_f32(rest[i]);
  gpu.func @shared_memory() kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %bytes = arith.constant 4224 : index
    %all = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %all[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<8x132xf32, #gpu.address_space<workgroup>>
    %rest = memref.view %all[%bytes][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<64xf16, #gpu.address_space<workgroup>>
    %0 = memref.load %rest[%i] : memref<64xf16, #gpu.address_space<workgroup>>
    %1 = arith.extf %0 : f16 to f32
    memref.store %1, %tile[%i, %c2] : memref<8x132xf32, #gpu.address_space<workgroup>>
    gpu.return
  }

  // A thread's own arrays are arrays of C, of numbers or of vectors. Writing to one changes no other memory.
  // CHECK-LABEL: void private_arrays(
  // CHECK:         float sums[2][4];
  // CHECK-NEXT:    vec<float, 4> lanes[2];
  // CHECK-NEXT:    alignas(16) float row[8];
  // CHECK-NEXT:    sums[1][i] = 0.0f;
  // CHECK-NEXT:    const float element = x[i];
  // CHECK-NEXT:    EACH_LANE(4) lanes[i][lane] = element;
  // CHECK-NEXT:    store(&row[4], lanes[i]);
  // CHECK-NEXT:    x[i] = sums[1][i] + lanes[0][2];
  gpu.func @private_arrays(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %sums = memref.alloca() : memref<2x4xf32, #gpu.address_space<private>>
    %lanes = memref.alloca() : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %row = memref.alloca() : memref<8xf32, #gpu.address_space<private>>
    memref.store %zero, %sums[%c1, %i] : memref<2x4xf32, #gpu.address_space<private>>
    %0 = memref.load %x[%i] : memref<64xf32>
    %1 = vector.broadcast %0 : f32 to vector<4xf32>
    memref.store %1, %lanes[%i] : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %2 = memref.load %lanes[%i] : memref<2xvector<4xf32>, #gpu.address_space<private>>
    vector.store %2, %row[%c4] : memref<8xf32, #gpu.address_space<private>>, vector<4xf32>
    %3 = memref.load %sums[%c1, %i] : memref<2x4xf32, #gpu.address_space<private>>
    %4 = memref.load %lanes[%c0] : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %5 = vector.extract %4[2] : f32 from vector<4xf32>
    %6 = arith.addf %3, %5 : f32
    memref.store %6, %x[%i] : memref<64xf32>
    gpu.return
  }

  // Views are offsets where they are used once, pointers where a sum would be written often; other shapes are nothing.
  // CHECK-LABEL: void views(
  // CHECK:         const float* const part = x + i * 8 + 16;
  // CHECK-NEXT:    y[i] = part[1] + part[2] + x[i + 5] + y[i * 4 + 3];
  // CHECK-NEXT:    y[i * 4 + 9] = 0.0f;
  gpu.func @views(%x: memref<64x8xf32>, %y: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %part = memref.subview %x[%i, 16] [1, 4] [1, 1] : memref<64x8xf32> to memref<1x4xf32, strided<[8, 1], offset: ?>>
    %0 = memref.load %part[%c0, %c1] : memref<1x4xf32, strided<[8, 1], offset: ?>>
    %1 = memref.load %part[%c0, %c2] : memref<1x4xf32, strided<[8, 1], offset: ?>>
    %flat = memref.collapse_shape %x [[0, 1]] : memref<64x8xf32> into memref<512xf32>
    %place = memref.reinterpret_cast %flat to offset: [%i], sizes: [6], strides: [1]
      : memref<512xf32> to memref<6xf32, strided<[1], offset: ?>>
    %five = arith.constant 5 : index
    %2 = memref.load %place[%five] : memref<6xf32, strided<[1], offset: ?>>
    %row = arith.muli %i, %c4 : index
    %window = memref.reinterpret_cast %y to offset: [%row], sizes: [4, 2], strides: [1, %c3]
      : memref<64xf32> to memref<4x2xf32, strided<[1, ?], offset: ?>>
    %3 = memref.load %window[%c0, %c1] : memref<4x2xf32, strided<[1, ?], offset: ?>>
    %4 = arith.addf %0, %1 : f32
    %5 = arith.addf %4, %2 : f32
    %6 = arith.addf %5, %3 : f32
    memref.store %6, %y[%i] : memref<64xf32>
    %row2 = arith.muli %i, %c4 : index
    %other = memref.reinterpret_cast %y to offset: [%row2], sizes: [4, 2], strides: [1, %c3]
      : memref<64xf32> to memref<4x2xf32, strided<[1, ?], offset: ?>>
    %c9 = arith.constant 9 : index
    memref.store %zero, %other[%c9, %c0] : memref<4x2xf32, strided<[1, ?], offset: ?>>
    gpu.return
  }

  // A buffer may say where it lies in the memory that it is part of: its pointer is there, and windows count from there.
  // CHECK-LABEL: void offsets(
  // CHECK:         x[1] = x[i - 4];
  gpu.func @offsets(%x: memref<8xf32, strided<[1], offset: 8>>) kernel {
    %i = gpu.thread_id x
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %window = memref.reinterpret_cast %x to offset: [%i], sizes: [8], strides: [1]
      : memref<8xf32, strided<[1], offset: 8>> to memref<8xf32, strided<[1], offset: ?>>
    %0 = memref.load %window[%c4] : memref<8xf32, strided<[1], offset: ?>>
    memref.store %0, %x[%c1] : memref<8xf32, strided<[1], offset: 8>>
    gpu.return
  }
}

// -----

// From 2^31 elements on an index has 64 bits.
gpu.module @kernels {
  // CHECK-LABEL: void large(
  // CHECK:         const i64 i = threadIdx.x;
  // CHECK-NEXT:    for (i64 k = 0LL; k < 4LL; ++k) {
  // CHECK-NEXT:      x[i * 2147483648 + k] = 0;
  gpu.func @large(%x: memref<4x2147483648xi32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0 : i32
    scf.for %k = %c0 to %c4 step %c1 {
      memref.store %zero, %x[%i, %k] : memref<4x2147483648xi32>
    }
    gpu.return
  }
}
