
// What cooperative kernels are written with.

#ifndef MINI_INFER_EMULATED

// Waits for all threads of the grid; each sees then what the others have written before. The counter counts blocks, the
// first of which adds what turns the highest bit over once all are there, and leaves the others 0.
DEVICE void grid_barrier(int* counter) {
  __syncthreads();
  if (threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    const u32 blocks = gridDim.x * gridDim.y * gridDim.z;
    const u32 added = blockIdx.x + blockIdx.y + blockIdx.z == 0 ? 0x80000000u - (blocks - 1) : 1;
    u32 before;
    asm volatile("atom.add.acq_rel.gpu.u32 %0, [%1], %2;" : "=r"(before) : "l"(counter), "r"(added) : "memory");
    u32 now = before + added;
    while (((before ^ now) & 0x80000000u) == 0)
      asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(now) : "l"(counter) : "memory");
  }
  __syncthreads();
}

#endif
