// What the kernels below are written with. Where MINI_INFER_EMULATED is defined, it names a header that stands in for a
// GPU: what is PTX here is there a function of the same name, and the rest runs on a CPU.

#ifdef MINI_INFER_EMULATED
#define DEVICE __attribute__((always_inline)) inline
#else
#define DEVICE __device__ __forceinline__
#endif
#define EACH_LANE(count) _Pragma("unroll") for (int lane = 0; lane < count; ++lane)

using i8 = signed char;
using i16 = short;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;

// 16-bit floats are kept as their bits and computed on as float.
struct f16 {
  u16 bits;
};
struct bf16 {
  u16 bits;
};

// The alignment that one access to so many bytes needs: at most 16, and a power of two.
template <int Bytes>
constexpr int alignment = Bytes % 16 == 0 ? 16 : Bytes & -Bytes;

template <class T, int N>
struct alignas(alignment<sizeof(T) * N>) vec {
  T lanes[N];

  DEVICE T& operator[](int i) { return lanes[i]; }
  DEVICE const T& operator[](int i) const { return lanes[i]; }
};

#ifdef MINI_INFER_EMULATED
#include MINI_INFER_EMULATED
#else

#define SHARED_MEMORY(name) extern __shared__ __align__(1024) i8 name[]

DEVICE float to_f32(f16 x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
  return y;
}
DEVICE f16 to_f16(float x) {
  f16 y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
DEVICE bf16 to_bf16(float x) {
  bf16 y;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
  return y;
}
// The bits of a number rounded to 10 bits behind the point, ties away from zero; the 13 bits after them are any.
DEVICE u32 tf32_bits(float x) {
  u32 y;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
  return y;
}

// The larger and the smaller one; NaN where either is NaN, and -0 is below 0.
DEVICE float maximum(float a, float b) {
  float c;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}
DEVICE float minimum(float a, float b) {
  float c;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
  return c;
}

// 2 to the power of a number, with a relative error of at most 2^-22; 0 for what has no full exponent.
DEVICE float approximate_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Another lane's value, by groups of `width` lanes: every lane of the warp takes part.
DEVICE int lane_of_group(int width) {
  u32 lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return int(lane) & (width - 1);
}
template <class T>
DEVICE T lane_xor(T x, int offset, int width) {
  return __shfl_xor_sync(0xffffffffu, x, offset, width);
}
template <class T>
DEVICE T lane_up(T x, int offset, int width) {
  return __shfl_up_sync(0xffffffffu, x, offset, width);
}
template <class T>
DEVICE T lane_down(T x, int offset, int width) {
  return __shfl_down_sync(0xffffffffu, x, offset, width);
}
template <class T>
DEVICE T lane_at(T x, int lane, int width) {
  return __shfl_sync(0xffffffffu, x, lane, width);
}

// A pointer to a vector, which lies at a multiple of its own size.
template <class V>
DEVICE V* aligned(const void* pointer) {
  return static_cast<V*>(const_cast<void*>(pointer));
}

DEVICE u32 shared_address(const void* pointer) { return u32(__cvta_generic_to_shared(pointer)); }

// Copies bytes into shared memory in the background: only the first `valid` ones are read, zeros follow.
template <int Bytes>
DEVICE void copy_async(void* to, const void* from, int valid = Bytes) {
  if constexpr (Bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(valid) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;"
                 :: "r"(shared_address(to)), "l"(from), "n"(Bytes), "r"(valid) : "memory");
}
DEVICE void copy_async_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Groups>
DEVICE void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" :: "n"(Groups) : "memory");
}

// The lane's part of 1, 2 or 4 matrices of 8 rows of 16 bytes, each of which a lane points to.
template <class T, int Tiles>
using part_of_tiles = vec<T, Tiles * 4 / sizeof(T)>;
#define LDMATRIX(name, modifier)                                                                                   \
  template <int Tiles>                                                                                             \
  DEVICE vec<u32, Tiles> name##_words(u32 row) {                                                                   \
    vec<u32, Tiles> x;                                                                                             \
    if constexpr (Tiles == 4)                                                                                      \
      asm volatile("ldmatrix.sync.aligned.m8n8.x4" modifier ".shared.b16 {%0, %1, %2, %3}, [%4];"                  \
                   : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(row) : "memory");                        \
    else if constexpr (Tiles == 2)                                                                                 \
      asm volatile("ldmatrix.sync.aligned.m8n8.x2" modifier ".shared.b16 {%0, %1}, [%2];"                          \
                   : "=r"(x[0]), "=r"(x[1]) : "r"(row) : "memory");                                                \
    else                                                                                                           \
      asm volatile("ldmatrix.sync.aligned.m8n8.x1" modifier ".shared.b16 {%0}, [%1];"                              \
                   : "=r"(x[0]) : "r"(row) : "memory");                                                            \
    return x;                                                                                                      \
  }
LDMATRIX(ldmatrix, "")
LDMATRIX(ldmatrix_transposed, ".trans")
template <int Tiles, class T>
DEVICE part_of_tiles<T, Tiles> ldmatrix(const T* row) {
  part_of_tiles<T, Tiles> part;
  const vec<u32, Tiles> words = ldmatrix_words<Tiles>(shared_address(row));
  memcpy(&part, &words, sizeof part);
  return part;
}
template <int Tiles, class T>
DEVICE part_of_tiles<T, Tiles> ldmatrix_transposed(const T* row) {
  part_of_tiles<T, Tiles> part;
  const vec<u32, Tiles> words = ldmatrix_transposed_words<Tiles>(shared_address(row));
  memcpy(&part, &words, sizeof part);
  return part;
}

// a * b + c of small matrices, parts of which each lane of the warp holds.
DEVICE vec<float, 4> mma(vec<float, 4> a, vec<float, 2> b, vec<float, 4> c) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
  return c;
}
DEVICE u32 pair(f16 low, f16 high) { return u32(low.bits) | u32(high.bits) << 16; }
DEVICE u32 pair(bf16 low, bf16 high) { return u32(low.bits) | u32(high.bits) << 16; }
#define MMA_16(type)                                                                                              \
  DEVICE vec<float, 4> mma(vec<type, 8> a, vec<type, 4> b, vec<float, 4> c) {                                     \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." #type "." #type ".f32 {%0, %1, %2, %3}, "               \
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                                  \
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                 \
                 : "r"(pair(a[0], a[1])), "r"(pair(a[2], a[3])), "r"(pair(a[4], a[5])), "r"(pair(a[6], a[7])),     \
                   "r"(pair(b[0], b[1])), "r"(pair(b[2], b[3])));                                                 \
    return c;                                                                                                     \
  }
MMA_16(f16)
MMA_16(bf16)
template <int N>
DEVICE u32 word(const vec<i8, N>& x, int i) {
  u32 y;
  memcpy(&y, &x[4 * i], 4);
  return y;
}
#define MMA_8(left, right)                                                                                        \
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." #left "." #right ".s32 {%0, %1, %2, %3}, "                \
               "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                                    \
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                                                   \
               : "r"(word(a, 0)), "r"(word(a, 1)), "r"(word(a, 2)), "r"(word(a, 3)), "r"(word(b, 0)), "r"(word(b, 1)))
template <bool UnsignedLeft, bool UnsignedRight>
DEVICE vec<int, 4> mma(vec<i8, 16> a, vec<i8, 8> b, vec<int, 4> c) {
  if constexpr (UnsignedLeft && UnsignedRight)
    MMA_8(u8, u8);
  else if constexpr (UnsignedLeft)
    MMA_8(u8, s8);
  else if constexpr (UnsignedRight)
    MMA_8(s8, u8);
  else
    MMA_8(s8, s8);
  return c;
}

#endif

template <class To, class From>
DEVICE To bits_as(From x) {
  static_assert(sizeof(To) == sizeof(From));
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}
DEVICE float infinity() { return bits_as<float>(0x7f800000); }
DEVICE float not_a_number() { return bits_as<float>(0x7fc00000); }

// The last 13 bits are cleared, so that what is computed with it is what tensor cores read.
DEVICE float to_tf32(float x) { return bits_as<float>(tf32_bits(x) & 0xffffe000); }

DEVICE float to_f32(bf16 x) { return bits_as<float>(u32(x.bits) << 16); }

DEVICE double maximum(double a, double b) { return a > b || a != a || (a == b && bits_as<i64>(b) < 0) ? a : b; }
DEVICE double minimum(double a, double b) { return a < b || a != a || (a == b && bits_as<i64>(a) < 0) ? a : b; }

// Arithmetic on integers as the machine does it: modulo 2 to the power of their bits.
template <class T>
struct unsigned_of;
template <>
struct unsigned_of<i8> {
  using type = u8;
};
template <>
struct unsigned_of<i16> {
  using type = u16;
};
template <>
struct unsigned_of<int> {
  using type = u32;
};
template <>
struct unsigned_of<i64> {
  using type = u64;
};
template <class T>
using bits_of = typename unsigned_of<T>::type;

template <class T>
DEVICE T wrapping_add(T a, T b) {
  return T(u64(a) + u64(b));
}
template <class T>
DEVICE T wrapping_sub(T a, T b) {
  return T(u64(a) - u64(b));
}
template <class T>
DEVICE T wrapping_mul(T a, T b) {
  return T(u64(a) * u64(b));
}
DEVICE int wrapping_add(int a, int b) { return int(u32(a) + u32(b)); }
DEVICE int wrapping_sub(int a, int b) { return int(u32(a) - u32(b)); }
DEVICE int wrapping_mul(int a, int b) { return int(u32(a) * u32(b)); }

// Of numbers without a sign: quotient, remainder, right shift, comparison, the smaller and the larger one.
template <class T>
DEVICE T divu(T a, T b) {
  return T(bits_of<T>(a) / bits_of<T>(b));
}
template <class T>
DEVICE T remu(T a, T b) {
  return T(bits_of<T>(a) % bits_of<T>(b));
}
template <class T>
DEVICE T shru(T a, T b) {
  return T(bits_of<T>(a) >> b);
}
template <class T>
DEVICE bool ltu(T a, T b) {
  return bits_of<T>(a) < bits_of<T>(b);
}
template <class T>
DEVICE T minu(T a, T b) {
  return ltu(a, b) ? a : b;
}
template <class T>
DEVICE T maxu(T a, T b) {
  return ltu(a, b) ? b : a;
}
template <class T>
DEVICE T ceil_divu(T a, T b) {
  return T(divu(a, b) + (remu(a, b) != 0));
}

// Of numbers with a sign.
template <class T>
DEVICE T smaller(T a, T b) {
  return a < b ? a : b;
}
template <class T>
DEVICE T larger(T a, T b) {
  return a > b ? a : b;
}
template <class T>
DEVICE T floor_div(T a, T b) {
  return T(a / b - (a % b != 0 && (a ^ b) < 0));
}
template <class T>
DEVICE T ceil_div(T a, T b) {
  return T(a / b + (a % b != 0 && (a ^ b) >= 0));
}

// Vectors: one access each, of as many bytes as a vector has, at most 16.
template <int N, class T>
DEVICE vec<T, N> load(const T* from) {
  return *aligned<const vec<T, N>>(from);
}
template <class T, int N>
DEVICE void store(T* to, vec<T, N> values) {
  *aligned<vec<T, N>>(to) = values;
}
template <int N, class T>
DEVICE vec<T, N> splat(T x) {
  vec<T, N> y;
  EACH_LANE(N) y[lane] = x;
  return y;
}

// What a lane gets where the one that it asks for lies outside its group is its own value.
template <class T>
DEVICE T shuffle_xor(T x, int offset, int width = 32) {
  T y = lane_xor(x, offset, width);
  return offset < width ? y : x;
}
template <class T>
DEVICE T shuffle_up(T x, int offset, int width = 32) {
  return lane_up(x, offset, width);
}
template <class T>
DEVICE T shuffle_down(T x, int offset, int width = 32) {
  return lane_down(x, offset, width);
}
template <class T>
DEVICE T shuffle_idx(T x, int from, int width = 32) {
  T y = lane_at(x, from, width);
  return ltu(from, width) ? y : x;
}
DEVICE bool shuffle_xor_valid(int offset, int width = 32) { return ltu(offset, width); }
DEVICE bool shuffle_up_valid(int offset, int width = 32) { return lane_of_group(width) - offset >= 0; }
DEVICE bool shuffle_down_valid(int offset, int width = 32) { return lane_of_group(width) + offset < width; }
DEVICE bool shuffle_idx_valid(int from, int width = 32) { return ltu(from, width); }
