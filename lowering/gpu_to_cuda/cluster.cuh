
// What kernels whose blocks form clusters are written with; their architecture is 9.0 or a later one.

#ifndef MINI_INFER_EMULATED

// Waits for all threads of the cluster; each sees then what the others have written to shared memory before. Without a
// fence for shared memory alone, which older compilers don't know, each waits for all it has written to memory, too.
DEVICE void cluster_barrier() {
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8)
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;\nbarrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#else
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Adjacent elements of 4 bytes, at the same place in the shared memory of the block of that rank.
template <int N, class T>
DEVICE vec<T, N> cluster_load(const T* place, int rank) {
  static_assert(sizeof(T) == 4);
  u32 at, words[N];
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(place)), "r"(rank));
  if constexpr (N == 4)
    asm volatile("ld.shared::cluster.v4.b32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3]) : "r"(at) : "memory");
  else if constexpr (N == 2)
    asm volatile("ld.shared::cluster.v2.b32 {%0, %1}, [%2];" : "=r"(words[0]), "=r"(words[1]) : "r"(at) : "memory");
  else
    asm volatile("ld.shared::cluster.b32 %0, [%1];" : "=r"(words[0]) : "r"(at) : "memory");
  vec<T, N> elements;
  memcpy(&elements, words, sizeof elements);
  return elements;
}

#endif
