// RUN: mini-opt %s -t cuda | filecheck %s

gpu.module @kernels {
  // Each dimension is a variable, however often it is asked for.
  // CHECK-LABEL: void places(
  // CHECK-NEXT:    const int thread = threadIdx.x;
  // CHECK-NEXT:    const int thread_y = threadIdx.y;
  // CHECK-NEXT:    const int tile = blockIdx.z;
  // CHECK-NEXT:    x[thread + thread_y * 2 + tile * 3 + thread * 4] = 0.0f;
  // CHECK-NEXT:  }
  gpu.func @places(%x: memref<256xf32>) kernel {
    %zero = arith.constant 0.0 : f32
    %0 = gpu.thread_id x
    %1 = gpu.thread_id y
    %tile = gpu.block_id z
    %2 = gpu.thread_id x
    %view = memref.reinterpret_cast %x to offset: [0], sizes: [2, 2, 2, 2], strides: [1, 2, 3, 4]
      : memref<256xf32> to memref<2x2x2x2xf32, strided<[1, 2, 3, 4], offset: ?>>
    memref.store %zero, %view[%0, %1, %tile, %2] : memref<2x2x2x2xf32, strided<[1, 2, 3, 4], offset: ?>>
    gpu.return
  }

  // What was read, and what other lanes were asked for, is put aside before a barrier.
  // CHECK-LABEL: void together(
  // CHECK:         const float a = x[i];
  // CHECK-NEXT:    const float b = a + shuffle_xor(a, 16);
  // CHECK-NEXT:    const float r = shuffle_down(b, 3, 8);
  // CHECK-NEXT:    __syncthreads();
  // CHECK-NEXT:    x[i] = shuffle_down_valid(3, 8) ? r : b;
  gpu.func @together(%x: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %o3 = arith.constant 3 : i32
    %o16 = arith.constant 16 : i32
    %w8 = arith.constant 8 : i32
    %w32 = arith.constant 32 : i32
    %a = memref.load %x[%i] : memref<64xf32>
    %0, %1 = gpu.shuffle xor %a, %o16, %w32 : f32
    %b = arith.addf %a, %0 : f32
    %r, %valid = gpu.shuffle down %b, %o3, %w8 : f32
    %chosen = arith.select %valid, %r, %b : f32
    gpu.barrier
    memref.store %chosen, %x[%i] : memref<64xf32>
    gpu.return
  }

  // Copies in the background, by their bytes; how many elements are there counts in bytes too.
  // CHECK-LABEL: void copies(
  // CHECK:         float* const tile = reinterpret_cast<float*>(shared);
  // CHECK-NEXT:    copy_async<16>(&tile[i * 4], &x[i * 4]);
  // CHECK-NEXT:    copy_async<4>(tile, x, (i - 1) * 4);
  // CHECK-NEXT:    copy_async_group();
  // CHECK-NEXT:    copy_async_wait<2>();
  gpu.func @copies(%x: memref<256xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<256xf32, #gpu.address_space<workgroup>>
    %rows = memref.reinterpret_cast %x to offset: [0], sizes: [64], strides: [4]
      : memref<256xf32> to memref<64xf32, strided<[4], offset: ?>>
    %to = memref.reinterpret_cast %tile to offset: [0], sizes: [64], strides: [4]
      : memref<256xf32, #gpu.address_space<workgroup>>
      to memref<64xf32, strided<[4], offset: ?>, #gpu.address_space<workgroup>>
    nvgpu.device_async_copy %rows[%i], %to[%i], 4 : memref<64xf32, strided<[4], offset: ?>>
      to memref<64xf32, strided<[4], offset: ?>, #gpu.address_space<workgroup>>
    %n = arith.subi %i, %c1 : index
    nvgpu.device_async_copy %x[%c0], %tile[%c0], 1, %n : memref<256xf32>
      to memref<256xf32, #gpu.address_space<workgroup>>
    nvgpu.device_async_create_group
    nvgpu.device_async_wait 2
    gpu.return
  }

  // Matrices in shared memory, spread over the lanes; of a later store they see nothing.
  // CHECK-LABEL: void matrices(
  // CHECK:         const vec<f16, 4> half = ldmatrix<2>(&tile[thread * 8]);
  // CHECK-NEXT:    store(tile, ldmatrix_transposed<4>(&tile[thread * 8]));
  // CHECK-NEXT:    store(&tile[8], half);
  gpu.func @matrices() kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %thread = gpu.thread_id x
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<32x8xf16, #gpu.address_space<workgroup>>
    %part = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 4 : i32, transpose = true} : memref<32x8xf16, #gpu.address_space<workgroup>> -> vector<8xf16>
    %half = nvgpu.ldmatrix %tile[%thread, %c0] {numTiles = 2 : i32, transpose = false} : memref<32x8xf16, #gpu.address_space<workgroup>> -> vector<4xf16>
    vector.store %part, %tile[%c0, %c0] : memref<32x8xf16, #gpu.address_space<workgroup>>, vector<8xf16>
    vector.store %half, %tile[%c1, %c0] : memref<32x8xf16, #gpu.address_space<workgroup>>, vector<4xf16>
    gpu.return
  }

  // Products of small matrices; what they are added to may be a thread's own array.
  // CHECK-LABEL: void products(
  // CHECK:         vec<float, 4> sums[2];
  // CHECK:         sums[1] = mma(a, vec<float, 2>{to_tf32(a[0]), a[1]}, sums[1]);
  // CHECK-NEXT:    store(x, mma(load<8>(h), load<4>(&h[8]), sums[1]));
  // CHECK-NEXT:    store(y, mma<true, false>(load<16>(u), load<8>(i), load<4>(y)));
  gpu.func @products(%x: memref<64xf32>, %h: memref<64xf16>, %u: memref<64xui8>, %i: memref<64xi8>, %y: memref<64xi32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %sums = memref.alloca() : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %a = vector.load %x[%c0] : memref<64xf32>, vector<4xf32>
    %0 = vector.extract %a[0] : f32 from vector<4xf32>
    %1 = nvgpu.round_to_tf32 %0 : f32
    %2 = vector.extract %a[1] : f32 from vector<4xf32>
    %none = arith.constant dense<0.0> : vector<2xf32>
    %3 = vector.insert %1, %none [0] : f32 into vector<2xf32>
    %b = vector.insert %2, %3 [1] : f32 into vector<2xf32>
    %c = memref.load %sums[%c1] : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %d = nvgpu.mma.sync(%a, %b, %c) : (vector<4xf32>, vector<2xf32>, vector<4xf32>) -> vector<4xf32>
    memref.store %d, %sums[%c1] : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %e = vector.load %h[%c0] : memref<64xf16>, vector<8xf16>
    %f = vector.load %h[%c8] : memref<64xf16>, vector<4xf16>
    %g = memref.load %sums[%c1] : memref<2xvector<4xf32>, #gpu.address_space<private>>
    %r = nvgpu.mma.sync(%e, %f, %g) : (vector<8xf16>, vector<4xf16>, vector<4xf32>) -> vector<4xf32>
    vector.store %r, %x[%c0] : memref<64xf32>, vector<4xf32>
    %k = vector.load %u[%c0] : memref<64xui8>, vector<16xui8>
    %l = vector.load %i[%c0] : memref<64xi8>, vector<8xi8>
    %m = vector.load %y[%c0] : memref<64xi32>, vector<4xi32>
    %s = nvgpu.mma.sync(%k, %l, %m) : (vector<16xui8>, vector<8xi8>, vector<4xi32>) -> vector<4xi32>
    vector.store %s, %y[%c0] : memref<64xi32>, vector<4xi32>
    gpu.return
  }
}
