// RUN: mini-opt %s -t cuda | filecheck %s

// A map is a parameter behind all others; PTX counts coordinates from the innermost one on.
// CHECK:       struct alignas(64) tensor_map {
// CHECK:       #define TENSOR_MAP(name) const __grid_constant__ tensor_map name
// CHECK:       DEVICE void copy_box(void* to, const tensor_map& map, u64* barrier, int at0, int at1) {
// CHECK-NEXT:    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%4, %3}], [%2];"
// CHECK-LABEL: void boxes(const float* __restrict__ x, float* __restrict__ y, TENSOR_MAP(map)) {
// CHECK:         copy_box(&tile[i * 512], map, &copied[i], i, 8);
// CHECK-NEXT:    barrier_wait(&copied[i], false, 8);
func.func @main(%x: memref<50x64xf32>, %y: memref<64xf32>) {
  %c1 = arith.constant 1 : index
  gpu.launch_func @kernels::@boxes blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    args(%x : memref<50x64xf32>, %y : memref<64xf32>)
  func.return
}
gpu.module @kernels {
  gpu.func @boxes(%x: memref<50x64xf32>, %y: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %phase = arith.constant false
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %tile = memref.view %shared[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
      to memref<3x16x32xf32, #gpu.address_space<workgroup>>
    %copied = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    %map = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor =
      memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
    nvgpu.tma.async.load %map[%i, %c8], %copied[%i] to %tile[%i, %c0, %c0] : !nvgpu.tensormap.descriptor<tensor =
      memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>,
      !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
      -> memref<3x16x32xf32, #gpu.address_space<workgroup>>
    nvgpu.mbarrier.try_wait.parity %copied[%i], %phase, %c8 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 3>
    %e = memref.load %tile[%i, %i, %i] : memref<3x16x32xf32, #gpu.address_space<workgroup>>
    memref.store %e, %y[%i] : memref<64xf32>
    gpu.return
  }
}
