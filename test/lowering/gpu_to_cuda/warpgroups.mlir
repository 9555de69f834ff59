// RUN: mini-opt %s -t cuda | filecheck %s

// Functions for them are in the text: of products those that occur, where there is a GPU.
// CHECK:       #define BARRIERS(name, count) __shared__ u64 name[count]
// CHECK:       #ifndef MINI_INFER_EMULATED
// CHECK-NEXT:  DEVICE void wgmma(float (&sums)[2][4], vec<f16, 8> a, const f16* b, int line) {
// CHECK:         wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK-NEXT:    "%0, %1, %2, %3, %4, %5, %6, %7"
// CHECK-NEXT:    "}, {%8, %9, %10, %11}, %12, p, 1, 1, 0;
// CHECK:       #endif
// CHECK-NOT:   DEVICE void wgmma(
gpu.module @kernels {
  // A barrier is one of an array; sums change in the background, so that what was read of them is put aside before.
  // CHECK-LABEL: void product(
  // CHECK:         f16* const tile = reinterpret_cast<f16*>(shared);
  // CHECK-NEXT:    BARRIERS(copied, 2);
  // CHECK-NEXT:    barrier_init(&copied[i], 1);
  // CHECK-NEXT:    barrier_fence();
  // CHECK-NEXT:    barrier_expect(&copied[i], 512);
  // CHECK-NEXT:    copy_bulk(tile, &x[i], 512, &copied[i]);
  // CHECK-NEXT:    barrier_wait(&copied[i], i == 1, 512);
  // CHECK-NEXT:    barrier_arrive(&copied[i]);
  // CHECK-NEXT:    increase_registers<232>();
  // CHECK-NEXT:    proxy_fence();
  // CHECK-NEXT:    const float early = sums[1][0];
  // CHECK-NEXT:    warpgroup_fence();
  // CHECK-NEXT:    wgmma(sums, splat<8>(f16{0x3c00}), tile, 16);
  // CHECK-NEXT:    warpgroup_commit();
  // CHECK-NEXT:    warpgroup_wait<0>();
  // CHECK-NEXT:    y[i] = early + sums[1][0];
  gpu.func @product(%x: memref<256xf16>, %y: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %bytes = arith.constant 512 : index
    %a = arith.constant dense<1.0> : vector<8xf16>
    %sums = memref.alloca() : memref<2x4xf32, #gpu.address_space<private>>
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<2x16x8xf16, #gpu.address_space<workgroup>>
    %copied = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    nvgpu.mbarrier.init %copied[%i], %c1 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    nvgpu.mbarrier.fence
    nvgpu.mbarrier.arrive.expect_tx %copied[%i], %bytes : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    nvgpu.bulk_async_copy %x[%i], %tile[%c0, %c0, %c0], %copied[%i], 256 : memref<256xf16>
      to memref<2x16x8xf16, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    %odd = arith.cmpi eq, %i, %c1 : index
    nvgpu.mbarrier.try_wait.parity %copied[%i], %odd, %bytes : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    nvgpu.mbarrier.arrive %copied[%i] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
    nvgpu.setmaxregister increase 232
    %early = memref.load %sums[%c1, %c0] : memref<2x4xf32, #gpu.address_space<private>>
    nvgpu.proxy_fence
    nvgpu.warpgroup.fence
    nvgpu.warpgroup.mma %a, %tile[%c0, %c0, %c0], %sums : vector<8xf16>,
      memref<2x16x8xf16, #gpu.address_space<workgroup>>, memref<2x4xf32, #gpu.address_space<private>>
    nvgpu.warpgroup.commit
    nvgpu.warpgroup.wait 0
    %late = memref.load %sums[%c1, %c0] : memref<2x4xf32, #gpu.address_space<private>>
    %sum = arith.addf %early, %late : f32
    memref.store %sum, %y[%i] : memref<64xf32>
    gpu.return
  }
}
