
// What kernels with bulk copies, maps of tensors and products by warpgroups are written with; their architecture is 9.0a.

#ifndef MINI_INFER_EMULATED

#define BARRIERS(name, count) __shared__ u64 name[count]

DEVICE void barrier_init(u64* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
DEVICE void barrier_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void barrier_expect(u64* barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
               :: "r"(shared_address(barrier)), "r"(bytes) : "memory");
}
DEVICE void barrier_arrive(u64* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(barrier)) : "memory");
}
// Waits until the phase of that parity is complete, asleep for at most so many nanoseconds at a time.
DEVICE void barrier_wait(u64* barrier, bool parity, int ticks) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1, %2;\n"
      "@!done bra again;\n}"
      :: "r"(shared_address(barrier)), "r"(u32(parity)), "r"(ticks) : "memory");
}
// Copies bytes into shared memory in the background; the barrier counts them.
DEVICE void copy_bulk(void* to, const void* from, int bytes, u64* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
               :: "r"(shared_address(to)), "l"(from), "r"(bytes), "r"(shared_address(barrier)) : "memory");
}

// What this thread has stored in shared memory is seen by products, behind a barrier.
DEVICE void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
// CUtensorMap, which the driver encodes, as a parameter of a kernel.
struct alignas(64) tensor_map {
  u64 words[16];
};
#define TENSOR_MAP(name) const __grid_constant__ tensor_map name

template <int Count>
DEVICE void increase_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(Count)); }
template <int Count>
DEVICE void decrease_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(Count)); }
DEVICE void warpgroup_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void warpgroup_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Groups>
DEVICE void warpgroup_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(Groups) : "memory");
}
// What numbers depend on stands before it in the machine code, and what follows behind: a vote that none of them can win
// without being computed. The assembler moves waits up before anything else.
template <int N>
DEVICE void behind(const float (&numbers)[N]) {
  float sum = numbers[0];
  #pragma unroll
  for (int i = 1; i < N; ++i) sum += numbers[i];
  asm volatile(
      "{\n.reg .pred p, q;\nsetp.lt.f32 p, %0, 0f00000000;\nvote.sync.any.pred q, p, 0xffffffff;\n"
      "@q nanosleep.u32 1;\n}" :: "f"(sum) : "memory");
}

// A matrix without swizzle: 16 bytes of each column side by side, and behind all columns those of the next depths.
DEVICE u64 tile_descriptor(const void* tile, int line) {
  return u64(shared_address(tile) >> 4) | u64(line) << 16 | u64(8) << 32;
}

#endif
