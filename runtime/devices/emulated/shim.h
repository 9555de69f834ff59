// Stands in for a GPU where the text of kernels is compiled for a CPU: what is PTX in the prelude is a function here.
//
// A cluster of blocks runs at a time, mostly of a single one, or all blocks of a cooperative launch, each thread on a
// stack of its own until it waits for others: at a barrier for the whole block, cluster or grid, in an operation of its
// warp for the 32 threads of that. Who runs next a seed says, and whether an
// asynchronous copy is done at once or when its thread waits for it: a GPU may do either. Shared memory holds NaN at
// first. What can't go on, or would harm another's memory, ends the launch with a message.

#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#define __global__
#define __cluster_dims__(...)
#define __launch_bounds__(...)
#define __syncthreads() emulated::barrier(__FILE__, __LINE__)
#define cluster_barrier() emulated::barrier_of_cluster(__FILE__, __LINE__)
#define grid_barrier(counter) emulated::barrier_of_grid(counter, __FILE__, __LINE__)
#define threadIdx (emulated::fiber->index)
#define blockIdx (emulated::block->index)
#define SHARED_MEMORY(name) i8* const name = emulated::block->shared
#define TENSOR_MAP(name) const emulated::TensorMap name

namespace emulated {

constexpr size_t STACK = 1 << 17;  // bytes of a thread's stack; the lowest page is a guard

#if (defined(__x86_64__) || defined(__aarch64__)) && !defined(EMULATED_BY_UCONTEXT)

// Keeps the registers that a call leaves alone on the stack, and goes on with another stack.
extern "C" void emulated_switch(void** save, void* to);
#if defined(__x86_64__)
asm(R"(
.text
.hidden emulated_switch
emulated_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");
constexpr int KEPT = 6, RETURN = 6, FRAME = 8;  // words: registers, where the address stands, all with what aligns
#else
asm(R"(
.text
.hidden emulated_switch
emulated_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");
constexpr int KEPT = 20, RETURN = 11, FRAME = 20;
#endif

struct Context {
  void* stack = nullptr;

  void start(char* top, void (*run)()) {
    void** words = reinterpret_cast<void**>(top) - FRAME;
    std::fill(words, words + FRAME, nullptr);
    words[RETURN] = reinterpret_cast<void*>(run);
    stack = words;
  }
  void switch_to(Context& other) { emulated_switch(&stack, other.stack); }
};

#else  // what any system has, which asks it about signals at every switch

}  // namespace emulated
#include <ucontext.h>
namespace emulated {

struct Context {
  ucontext_t kept;

  void start(char* top, void (*run)()) {
    getcontext(&kept);
    kept.uc_stack.ss_sp = top - STACK;
    kept.uc_stack.ss_size = STACK;
    makecontext(&kept, run, 0);
  }
  void switch_to(Context& other) { swapcontext(&kept, &other.kept); }
};

#endif

constexpr int WARP = 32;
constexpr int CANARY = 4096;       // bytes behind shared memory that must stay as they are
constexpr u8 UNWRITTEN = 0xff, UNTOUCHED = 0xa5;

struct Index {
  u32 x, y, z;
};

struct Copy {
  void* to;
  const void* from;
  int bytes, valid, group;
};

// What stands for CUtensorMap; dimensions from the outermost one on. See compiled.py.
struct TensorMap {
  u64 base, strides[4];  // in bytes, of all dimensions but the last
  u32 sizes[5], box[5], rank, itemsize, swizzle;
};

// A copy of a box of a tensor, with its first element.
struct BoxCopy {
  char* to;
  TensorMap map;
  int at[5];
};

// A barrier that counts bytes. Its phase is looked at when a thread waits for it: copies are as late as they may be.
struct Barrier {
  int arrivals, arrived;  // those that a phase takes, 0 before it is initialised; and those of the current one
  i64 expected, copied;   // bytes
  u64 phases;             // that are complete
  bool fenced;
  std::vector<Copy> copies;
  std::vector<BoxCopy> boxes;
};

// A product by a warpgroup: the thread's two rows of a, and where b lies.
struct Product {
  float* sums;
  float a[2][16];
  const void* b;
  float (*element)(const void* b, int at);
  int columns, line, depth, group;
};

// What a thread's sums were when a product of theirs began; in their place is NaN while products are in flight.
struct Sums {
  float* place;
  std::vector<float> values;
};

enum State { READY, AT_BARRIER, AT_CLUSTER, IN_WARP, AT_PHASE, DONE };

struct Block;

struct Fiber {
  Context context;
  State state;
  Block* block;
  int number;  // in its block
  Index index;
  const char* file;  // where it waits
  int line;
  int parity;  // of the warp's operations
  int groups;  // of asynchronous copies, all that were made
  std::vector<Copy> copies;
  Barrier* awaited;
  bool parity_awaited;
  int product_groups;
  bool fenced;  // since the last group of products
  std::vector<Product> products;
  std::vector<Sums> sums;
};

struct Exchange {
  u32 words[8];  // what a lane hands to the others
};

struct Warp {
  Exchange lanes[2][WARP];  // those of one operation stay until the next but one
  int arrived;
  const char* doing;
};

struct Block {
  Index index;
  i8* shared;
  Fiber* fibers;
  int threads, at_barrier, ended;
  std::vector<Warp> warps;
  std::map<int, std::vector<Barrier>> barriers;
};

// The launch that runs, with the blocks of one cluster, or of a cooperative grid, and all of their threads.
struct Launch {
  bool cooperative;
  std::vector<Block> blocks;
  std::vector<Fiber> fibers;
  int at_cluster;  // threads at a barrier of the cluster, or of the grid
  Context scheduler;
  u64 chance;
  bool eager;
  void (*kernel)(void**);
  void** arguments;
  char* message;
  size_t room;
  bool failed;
};

static thread_local Launch* running;
static thread_local Block* block;
static thread_local Fiber* fiber;

// A number that the seed decides; Marsaglia's xorshift.
static u64 next_chance() {
  u64& x = running->chance;
  x ^= x << 13;
  x ^= x >> 7;
  return x ^= x << 17;
}

static void say(const char* format, ...) {
  va_list given;
  va_start(given, format);
  vsnprintf(running->message, running->room, format, given);
  va_end(given);
  running->failed = true;
}

static void wait_as(State state) {
  fiber->state = state;
  fiber->context.switch_to(running->scheduler);
}

// The launch ends here: nobody runs this thread again.
template <class... Given>
[[noreturn]] static void fail(const char* format, Given... given) {
  say(format, given...);
  wait_as(DONE);
  __builtin_unreachable();
}

// Waits for `count` threads, of which `arrived` are there: those from `first` on.
static void meet(State state, Fiber* first, int count, int& arrived, const char* file, int line) {
  fiber->file = file;
  fiber->line = line;
  if (++arrived < count) return wait_as(state);
  arrived = 0;
  for (Fiber* each = first; each < first + count; ++each) {
    if (each->line != line)
      fail("threads wait at different barriers: %d at %s(%d), %d at %s(%d)", fiber->number, file, line, each->number,
           each->file, each->line);
    each->state = READY;
  }
}
__attribute__((noinline)) static void barrier(const char* file, int line) {
  meet(AT_BARRIER, block->fibers, block->threads, block->at_barrier, file, line);
}
__attribute__((noinline)) static void barrier_of_cluster(const char* file, int line) {
  meet(AT_CLUSTER, running->fibers.data(), running->fibers.size(), running->at_cluster, file, line);
}

// The first thread of each block counts it, as a GPU does: from 0 on, where nobody else has written there.
__attribute__((noinline)) static void barrier_of_grid(int* counter, const char* file, int line) {
  const u32 blocks = running->blocks.size();
  if (!running->cooperative) fail("a barrier of the grid in a launch that is not cooperative");
  if (fiber->number == 0) *counter += block == running->blocks.data() ? 0x80000000u - (blocks - 1) : 1;
  if (running->at_cluster + 1 == running->fibers.size() && (*counter & 0x7fffffff))
    fail("the counter of the grid's barrier was not set to 0 before the launch");
  meet(AT_CLUSTER, running->fibers.data(), running->fibers.size(), running->at_cluster, file, line);
}

// Hands words to the other lanes of the warp; what all of them handed over, once each has.
__attribute__((noinline)) static const Exchange* exchange(const char* what, const Exchange& mine) {
  Warp& warp = block->warps[fiber->number / WARP];
  if (warp.arrived && strcmp(warp.doing, what))
    fail("lanes of a warp do different things: one %s, another %s", warp.doing, what);
  warp.doing = what;
  Exchange* all = warp.lanes[fiber->parity ^= 1];
  all[fiber->number % WARP] = mine;
  if (++warp.arrived < WARP) {
    wait_as(IN_WARP);
    return all;
  }
  warp.arrived = 0;
  Fiber* first = &block->fibers[fiber->number / WARP * WARP];
  for (int lane = 0; lane < WARP; ++lane) first[lane].state = READY;
  return all;
}

static void perform(const Copy& copy) {
  memcpy(copy.to, copy.from, copy.valid);
  memset(static_cast<char*>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
}

// Elements outside of the tensor are zeros; units of 16 bytes are swizzled. Returns the bytes.
static int perform(const BoxCopy& copy) {
  const TensorMap& map = copy.map;
  const int line = map.box[map.rank - 1] * map.itemsize, units = map.swizzle / 16;
  int lines = 1;
  for (u32 i = 0; i + 1 < map.rank; ++i) lines *= map.box[i];
  for (int number = 0; number < lines; ++number) {
    const char* from = reinterpret_cast<const char*>(map.base);
    bool inside = true;
    for (int axis = int(map.rank) - 2, rest = number; axis >= 0; rest /= map.box[axis--]) {
      const i64 place = copy.at[axis] + rest % int(map.box[axis]);
      inside = inside && place >= 0 && place < map.sizes[axis];
      from += place * i64(map.strides[axis]);
    }
    for (int byte = 0; byte < line; byte += map.itemsize) {
      const i64 place = copy.at[map.rank - 1] + byte / int(map.itemsize);
      const int at = number * line + byte, to = units ? at ^ at / 128 % units * 16 : at;
      if (inside && place >= 0 && place < map.sizes[map.rank - 1])
        memcpy(copy.to + to, from + place * map.itemsize, map.itemsize);
      else
        memset(copy.to + to, 0, map.itemsize);
    }
  }
  return lines * line;
}

// Whether the phase of a barrier is complete, once what is left to copy is copied; then the next one begins.
static bool complete(Barrier& barrier) {
  if (barrier.arrived < barrier.arrivals) return false;
  for (const Copy& copy : barrier.copies) {
    perform(copy);
    barrier.copied += copy.bytes;
  }
  barrier.copies.clear();
  for (const BoxCopy& copy : barrier.boxes) barrier.copied += perform(copy);
  barrier.boxes.clear();
  if (barrier.copied != barrier.expected) return false;
  ++barrier.phases;
  barrier.arrived = 0;
  barrier.expected = barrier.copied = 0;
  return true;
}
static bool is_over(Barrier& barrier, bool parity) { return barrier.phases % 2 != parity || complete(barrier); }

static void run_fiber() {
  running->kernel(running->arguments);
  if (!fiber->products.empty()) fail("a thread ends while its products are in flight");
  wait_as(DONE);
}

// Nobody can go on: says who waits for whom.
static void say_stuck() {
  int count[6] = {};
  const Fiber* waiting = nullptr;
  for (const Fiber& each : running->fibers) {
    ++count[each.state];
    if (!waiting && each.state != DONE) waiting = &each;
  }
  if (count[AT_PHASE])
    say("threads wait for ever: %d for a phase of a barrier, %d for others, %d have ended", count[AT_PHASE],
        count[AT_BARRIER] + count[AT_CLUSTER] + count[IN_WARP], count[DONE]);
  else if (count[AT_CLUSTER])
    say("threads wait for ever: %d at a barrier of their %s, %d for others, %d have ended", count[AT_CLUSTER],
        running->cooperative ? "grid" : "cluster", count[AT_BARRIER] + count[IN_WARP], count[DONE]);
  else if (waiting->state == AT_BARRIER)
    say("threads wait for ever: %d at the barrier %s(%d), %d for other lanes of their warp, %d have ended",
        count[AT_BARRIER], waiting->file, waiting->line, count[IN_WARP], count[DONE]);
  else
    say("threads wait for ever: %d for other lanes of their warp (%s), %d at a barrier, %d have ended", count[IN_WARP],
        waiting->block->warps[waiting->number / WARP].doing, count[AT_BARRIER], count[DONE]);
}

// One cluster: passes over the threads of its blocks, each from another one on, until all have ended.
static void run_cluster(char* stacks, Index size) {
  const int count = running->fibers.size();
  for (int i = 0; i < count; ++i) {
    Fiber& each = running->fibers[i];
    each.state = READY;
    const int number = each.number;
    each.index = {number % size.x, number / size.x % size.y, number / (size.x * size.y)};
    each.line = each.parity = each.groups = each.product_groups = 0;
    each.fenced = false;
    each.copies.clear();
    each.products.clear();
    each.sums.clear();
    each.context.start(stacks + STACK * (i + 1), run_fiber);
  }
  for (Block& each : running->blocks) {
    for (Warp& warp : each.warps) warp.arrived = 0;
    each.barriers.clear();
    each.at_barrier = each.ended = 0;
  }
  running->at_cluster = 0;
  for (int ended = 0; ended < count && !running->failed;) {
    bool moved = false;
    // A step that has no divisor in common with the count reaches every thread; at first they go in order.
    int start = 0, step = 1;
    if (running->eager) {
      start = next_chance() % count;
      do step = 1 + next_chance() % count;
      while (std::__gcd(step, count) != 1);
    }
    for (int i = 0, at = start; i < count && !running->failed; ++i, at = (at + step) % count) {
      fiber = &running->fibers[at];
      block = fiber->block;
      if (fiber->state == AT_PHASE && is_over(*fiber->awaited, fiber->parity_awaited)) fiber->state = READY;
      if (fiber->state != READY) continue;
      moved = true;
      running->scheduler.switch_to(fiber->context);
      ended += fiber->state == DONE;
      block->ended += fiber->state == DONE;
    }
    if (!moved && !running->failed) say_stuck();
  }
  for (Block& of : running->blocks)
    for (auto& [_, group] : of.barriers)
      for (Barrier& each : group)
        if (!(each.copies.empty() && each.boxes.empty()) && !running->failed) say("a block ends while bulk copies are in flight");
}

// Stacks are kept by each thread of the process for its next launch.
struct Stacks {
  char* first = nullptr;
  size_t count = 0;

  char* enough(size_t wanted) {
    if (wanted > count) {
      release();
      void* made = mmap(nullptr, wanted * STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
      if (made == MAP_FAILED) return nullptr;
      first = static_cast<char*>(made);
      count = wanted;
      for (size_t i = 0; i < count; ++i) mprotect(first + i * STACK, sysconf(_SC_PAGESIZE), PROT_NONE);
    }
    return first;
  }
  void release() {
    if (first) munmap(first, count * STACK);
    first = nullptr;
    count = 0;
  }
  ~Stacks() { release(); }
};

static int launch(void (*kernel)(void**), void** arguments, const u32* sizes, u64 seed, int shared, char* message,
                  size_t room) {
  static thread_local Stacks stacks;
  const Index grid = {sizes[0], sizes[1], sizes[2]}, size = {sizes[3], sizes[4], sizes[5]};
  const int cluster = sizes[6], threads = size.x * size.y * size.z, bytes = (shared + CANARY + 1023) / 1024 * 1024;
  Launch mine = {};
  running = &mine;
  mine.cooperative = sizes[7];
  mine.kernel = kernel;
  mine.arguments = arguments;
  mine.message = message;
  mine.room = room;
  mine.eager = seed != 0;
  mine.chance = seed * 0x9e3779b97f4a7c15u | 1;
  mine.fibers.resize(cluster * threads);
  mine.blocks.resize(cluster);
  std::vector<u8> memory(cluster * bytes + 1024);
  u8* start = reinterpret_cast<u8*>((reinterpret_cast<uintptr_t>(memory.data()) + 1023) / 1024 * 1024);
  for (int rank = 0; rank < cluster; ++rank) {
    Block& each = mine.blocks[rank];
    each.threads = threads;
    each.fibers = &mine.fibers[rank * threads];
    each.shared = reinterpret_cast<i8*>(start + rank * bytes);
    // A block that is no multiple of a warp has one that is never complete.
    each.warps.resize((threads + WARP - 1) / WARP);
    for (int i = 0; i < threads; ++i) {
      each.fibers[i].block = &each;
      each.fibers[i].number = i;
    }
  }
  char* room_for_stacks = stacks.enough(cluster * threads);
  if (!room_for_stacks) {
    say("no memory for the stacks of %d threads", cluster * threads);
    return 1;
  }
  const u64 clusters = u64(grid.x) * grid.y * grid.z / cluster;
  u64 first = 0, step = 1;
  if (mine.eager && clusters > 1) {
    first = next_chance() % clusters;
    do step = 1 + next_chance() % clusters;
    while (std::__gcd(step, clusters) != 1);
  }
  for (u64 i = 0, at = first; i < clusters && !mine.failed; ++i, at = (at + step) % clusters) {
    for (int rank = 0; rank < cluster; ++rank) {
      const u64 number = at * cluster + rank;
      Block& each = mine.blocks[rank];
      each.index = {u32(number % grid.x), u32(number / grid.x % grid.y), u32(number / grid.x / grid.y)};
      memset(each.shared, UNWRITTEN, shared);
      memset(each.shared + shared, UNTOUCHED, CANARY);
    }
    run_cluster(room_for_stacks, size);
    for (const Block& each : mine.blocks) {
      const u8* behind = reinterpret_cast<u8*>(each.shared) + shared;
      if (!mine.failed && std::any_of(behind, behind + CANARY, [](u8 x) { return x != UNTOUCHED; }))
        say("the kernel writes behind the %d bytes of shared memory that its launch asks for", shared);
    }
  }
  return mine.failed;
}

// An argument of a kernel: an address, the map at an address, or the low bits of a number.
template <class Given>
static Given argument(void* given) {
  if constexpr (std::is_pointer_v<Given>) return static_cast<Given>(given);
  else if constexpr (std::is_class_v<Given>) return *static_cast<const Given*>(given);
  else return static_cast<Given>(reinterpret_cast<intptr_t>(given));
}
template <class... Given, size_t... I>
static void call(void (*kernel)(Given...), void** arguments, std::index_sequence<I...>) {
  kernel(argument<Given>(arguments[I])...);
}
template <class... Given>
static void call(void (*kernel)(Given...), void** arguments) {
  call(kernel, arguments, std::index_sequence_for<Given...>());
}

}  // namespace emulated

// A function by which the kernel can be launched from outside.
#define EMULATED_KERNEL(name)                                                                                    \
  extern "C" int emulated_##name(void** arguments, const u32* sizes, u64 seed, int shared, char* message,        \
                                 size_t room) {                                                                  \
    return emulated::launch([](void** given) { emulated::call(name, given); }, arguments, sizes, seed, shared,   \
                            message, room);                                                                      \
  }

template <class To, class From>
static To emulated_bits(From x) {
  To y;
  memcpy(&y, &x, sizeof y);
  return y;
}

static inline float to_f32(f16 x) { return emulated_bits<_Float16>(x.bits); }
static inline f16 to_f16(float x) { return {emulated_bits<u16>(_Float16(x))}; }
static inline bf16 to_bf16(float x) {
  u32 bits = emulated_bits<u32>(x);
  if (x != x) return {0x7fff};
  return {u16((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
static inline u32 tf32_bits(float x) {
  u32 bits = emulated_bits<u32>(x);
  if (x != x) return 0x7fffffff;
  return (std::isfinite(x) ? (bits + 0x1000) & ~0x1fffu : bits) | 0x1555;  // the last bits are any
}

static inline float maximum(float a, float b) {
  return a > b || a != a || (a == b && std::signbit(b)) ? a : b;
}
static inline float minimum(float a, float b) {
  return a < b || a != a || (a == b && std::signbit(a)) ? a : b;
}
static inline float approximate_exp2(float x) { return std::fpclassify(exp2f(x)) == FP_SUBNORMAL ? 0 : exp2f(x); }
static inline float rsqrtf(float x) { return 1 / sqrtf(x); }
static inline double rsqrt(double x) { return 1 / sqrt(x); }

static inline int lane_of_group(int width) { return emulated::fiber->number & (width - 1); }

// The value of the lane that `wanted` says, of the same group; as PTX does it, the own one where it lies outside.
template <class T>
static T emulated_shuffle(const char* what, T x, int wanted, int width) {
  static_assert(sizeof(T) == 4);
  const int lane = emulated::fiber->number % emulated::WARP, group = lane & -width;
  const emulated::Exchange* all = emulated::exchange(what, {{emulated_bits<u32>(x)}});
  return wanted < group || wanted >= group + width ? x : emulated_bits<T>(all[wanted].words[0]);
}
template <class T>
static T lane_xor(T x, int offset, int width) {
  return emulated_shuffle("shuffles by xor", x, emulated::fiber->number % emulated::WARP ^ offset, width);
}
template <class T>
static T lane_up(T x, int offset, int width) {
  return emulated_shuffle("shuffles up", x, emulated::fiber->number % emulated::WARP - offset, width);
}
template <class T>
static T lane_down(T x, int offset, int width) {
  return emulated_shuffle("shuffles down", x, emulated::fiber->number % emulated::WARP + offset, width);
}
template <class T>
static T lane_at(T x, int from, int width) {
  const int group = emulated::fiber->number % emulated::WARP & -width;
  return emulated_shuffle("shuffles by number", x, group + (from & (width - 1)), width);
}

template <class V>
DEVICE V* aligned(const void* pointer) {
  if (reinterpret_cast<uintptr_t>(pointer) % alignof(V))
    emulated::fail("an access to a vector of %d bytes at an address that is no multiple of %d", int(sizeof(V)),
                   int(alignof(V)));
  return static_cast<V*>(const_cast<void*>(pointer));
}

template <int Bytes>
static void copy_async(void* to, const void* from, int valid = Bytes) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % Bytes)
    emulated::fail("an asynchronous copy of %d bytes at an address that is no multiple of that", Bytes);
  if (valid < 0 || valid > Bytes)
    emulated::fail("an asynchronous copy of %d bytes, of which %d are to be read", Bytes, valid);
  const emulated::Copy copy = {to, from, Bytes, valid, emulated::fiber->groups};
  if (emulated::running->eager && emulated::next_chance() & 1)
    emulated::perform(copy);
  else
    emulated::fiber->copies.push_back(copy);
}
static inline void copy_async_group() { ++emulated::fiber->groups; }
template <int Groups>
static void copy_async_wait() {
  auto& copies = emulated::fiber->copies;
  size_t done = 0;
  while (done < copies.size() && copies[done].group < emulated::fiber->groups - Groups)
    emulated::perform(copies[done++]);
  copies.erase(copies.begin(), copies.begin() + done);
}

// Elements at the same place in the shared memory of the block of that rank, which must not have ended.
template <int N, class T>
static vec<T, N> cluster_load(const T* place, int rank) {
  using namespace emulated;
  const int count = running->blocks.size();
  if (rank < 0 || rank >= count) fail("a read of block %d of a cluster of %d", rank, count);
  const Block& other = running->blocks[rank];
  if (other.ended) fail("a read of the shared memory of block %d of a cluster, which has ended", rank);
  const i8* from = other.shared + (reinterpret_cast<const i8*>(place) - block->shared);
  return *aligned<vec<T, N>>(from);
}

// The lanes hand over the addresses of rows, and each takes its part of the matrices that they are of.
template <int Tiles, bool Transposed, class T>
static vec<T, Tiles * 4 / sizeof(T)> emulated_ldmatrix(const T* row) {
  const int lane = emulated::fiber->number % emulated::WARP, group = lane / 4, place = lane % 4;
  if (lane < 8 * Tiles && reinterpret_cast<uintptr_t>(row) % 16)
    emulated::fail("a row of a matrix at an address that is no multiple of 16");
  emulated::Exchange mine = {};
  memcpy(mine.words, &row, sizeof row);
  const emulated::Exchange* all = emulated::exchange("loads matrices", mine);
  constexpr int count = 4 / sizeof(T);  // elements of a lane, of each matrix
  vec<T, Tiles * count> part;
  for (int i = 0; i < Tiles * count; ++i) {
    const int matrix = i / count, at = place * count + i % count;
    const T* from;
    memcpy(&from, all[matrix * 8 + (Transposed ? at : group)].words, sizeof from);
    part[i] = from[Transposed ? group : at];
  }
  return part;
}
template <int Tiles, class T>
static auto ldmatrix(const T* row) {
  return emulated_ldmatrix<Tiles, false>(row);
}
template <int Tiles, class T>
static auto ldmatrix_transposed(const T* row) {
  return emulated_ldmatrix<Tiles, true>(row);
}

// Tensor cores add up exact products and cut the sum off, rounding it toward zero.
static float rounded_toward_zero(double sum) {
  const float near = float(sum);
  return std::isfinite(near) && std::fabs(double(near)) > std::fabs(sum) ? std::nextafterf(near, 0.0f) : near;
}

// The lanes hand over their parts of a and b, and each computes its part of the product, which f64 holds exactly where
// it is of bytes.
template <int K, class Sum, class A, class B, class Left, class Right, class Round>
static vec<Sum, 4> emulated_mma(const A& a, const B& b, vec<Sum, 4> c, Left left, Right right, Round round) {
  emulated::Exchange mine = {};
  memcpy(mine.words, &a, sizeof a);
  memcpy(mine.words + 4, &b, sizeof b);
  const emulated::Exchange* all = emulated::exchange("multiplies matrices", mine);
  constexpr int pair = K / 8;  // neighbours along K in one register
  const int lane = emulated::fiber->number % emulated::WARP, group = lane / 4, column = lane % 4 * 2;
  for (int i = 0; i < 4; ++i) {
    double sum = c[i];
    for (int k = 0; k < K; ++k) {
      // The element k of a row of a, and of a column of b, is held by the lane k / pair % 4 of the four.
      const int owner = k / pair % 4, high = k / (4 * pair), low = k % pair;
      const u32* row = all[group * 4 + owner].words;
      const u32* other = all[(column + i % 2) * 4 + owner].words + 4;
      sum += double(left(row[i / 2 + 2 * high], low)) * double(right(other[high], low));
    }
    c[i] = round(sum);
  }
  return c;
}
template <int K, class A, class B, class Read>
static vec<float, 4> emulated_mma(const A& a, const B& b, vec<float, 4> c, Read read) {
  return emulated_mma<K>(a, b, c, read, read, rounded_toward_zero);
}
static vec<float, 4> mma(vec<float, 4> a, vec<float, 2> b, vec<float, 4> c) {
  return emulated_mma<8>(a, b, c, [](u32 word, int) { return emulated_bits<float>(word & ~0x1fffu); });
}
static vec<float, 4> mma(vec<f16, 8> a, vec<f16, 4> b, vec<float, 4> c) {
  return emulated_mma<16>(a, b, c, [](u32 word, int low) { return to_f32(f16{u16(word >> 16 * low)}); });
}
static vec<float, 4> mma(vec<bf16, 8> a, vec<bf16, 4> b, vec<float, 4> c) {
  return emulated_mma<16>(a, b, c, [](u32 word, int low) {
    return emulated_bits<float>(low ? word & 0xffff0000u : word << 16);
  });
}
template <bool UnsignedLeft, bool UnsignedRight>
static vec<int, 4> mma(vec<i8, 16> a, vec<i8, 8> b, vec<int, 4> c) {
  const auto read = [](u32 word, int low, bool is_unsigned) {
    const u8 bits = u8(word >> 8 * low);
    return is_unsigned ? int(bits) : int(i8(bits));
  };
  return emulated_mma<32>(
      a, b, c, [&](u32 word, int low) { return read(word, low, UnsignedLeft); },
      [&](u32 word, int low) { return read(word, low, UnsignedRight); },
      [](double sum) { return int(u32(i64(sum))); });
}

#define BARRIERS(name, count) emulated::Barrier* const name = emulated_barriers(__COUNTER__, count)

static emulated::Barrier* emulated_barriers(int number, int count) {
  auto& group = emulated::block->barriers[number];
  if (group.empty()) group.resize(count);
  return group.data();
}
static void barrier_init(emulated::Barrier* barrier, int arrivals) {
  *barrier = {};
  barrier->arrivals = arrivals;
}
static void barrier_fence() {
  for (auto& [_, group] : emulated::block->barriers)
    for (emulated::Barrier& each : group) each.fenced = each.arrivals;
}
static void barrier_expect(emulated::Barrier* barrier, int bytes) {
  if (!barrier->arrivals) emulated::fail("an arrival at a barrier that is not initialised");
  if (barrier->arrived == barrier->arrivals)
    emulated::fail("an arrival at a barrier whose phase has all its arrivals; nobody has waited for it");
  ++barrier->arrived;
  barrier->expected += bytes;
}
static void barrier_arrive(emulated::Barrier* barrier) {
  if (!barrier->expected) emulated::complete(*barrier);  // a phase of arrivals alone ends by the last of them
  barrier_expect(barrier, 0);
}
static void barrier_wait(emulated::Barrier* barrier, bool parity, int) {
  if (!barrier->arrivals) emulated::fail("a wait for a barrier that is not initialised");
  if (emulated::is_over(*barrier, parity)) return;
  emulated::fiber->awaited = barrier;
  emulated::fiber->parity_awaited = parity;
  emulated::wait_as(emulated::AT_PHASE);
}
static void copy_bulk(void* to, const void* from, int bytes, emulated::Barrier* barrier) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | bytes) % 16)
    emulated::fail("a bulk copy of %d bytes: it, its source or its destination is no multiple of 16", bytes);
  if (!barrier->fenced) emulated::fail("a bulk copy for a barrier that was not fenced since it was initialised");
  const emulated::Copy copy = {to, from, bytes, bytes, 0};
  if (emulated::running->eager && emulated::next_chance() & 1) {
    emulated::perform(copy);
    barrier->copied += bytes;
  } else {
    barrier->copies.push_back(copy);
  }
}
template <class... At>
static void copy_box(void* to, const emulated::TensorMap& map, emulated::Barrier* barrier, At... at) {
  using namespace emulated;
  const int aligned = std::max(128, 8 * int(map.swizzle));
  if ((static_cast<i8*>(to) - block->shared) % aligned)
    fail("a box is copied to an address that is no multiple of %d", aligned);
  if (sizeof...(at) != map.rank) fail("%d coordinates for a map of %d dimensions", int(sizeof...(at)), int(map.rank));
  if (!barrier->fenced) fail("a copy of a box for a barrier that was not fenced since it was initialised");
  const BoxCopy copy = {static_cast<char*>(to), map, {at...}};
  if (running->eager && next_chance() & 1)
    barrier->copied += perform(copy);
  else
    barrier->boxes.push_back(copy);
}

template <class T>
static void behind(const T&) {}  // about machine code
static void proxy_fence() {}  // every thread sees all of memory here
template <int>
static void increase_registers() {}
template <int>
static void decrease_registers() {}
static void warpgroup_fence() { emulated::fiber->fenced = true; }
static void warpgroup_commit() {
  emulated::fiber->fenced = false;
  ++emulated::fiber->product_groups;
}

// Starts sums += a b: rows of a come from the lanes that hold them; b is read when the product is waited for.
template <int K, class A, class Read>
static void emulated_wgmma(float* sums, int columns, const A& a, const void* b, int line, Read read,
                           float (*element)(const void* b, int at)) {
  using namespace emulated;
  if (fiber->number / 128 * 128 + 128 > block->threads)
    fail("a product by a warpgroup in a block of %d threads", block->threads);
  if (!fiber->fenced) fail("a product by a warpgroup without a fence before the first one of its group");
  if (reinterpret_cast<uintptr_t>(b) % 16) fail("a matrix in shared memory at an address that is no multiple of 16");
  Exchange mine = {};
  static_assert(sizeof a <= sizeof mine.words);
  memcpy(mine.words, &a, sizeof a);
  const Exchange* all = exchange("multiplies matrices by warpgroups", mine);
  Product made = {sums, {}, b, element, columns, line, K, fiber->product_groups};
  constexpr int pair = K / 8;  // neighbours along K in one register
  const int group = fiber->number % WARP / 4;
  for (int half = 0; half < 2; ++half)
    for (int k = 0; k < K; ++k)
      made.a[half][k] = read(all[group * 4 + k / pair % 4].words[half + 2 * (k / (4 * pair))], k % pair);
  auto known = [&](const Sums& each) { return each.place == sums; };
  if (std::none_of(fiber->sums.begin(), fiber->sums.end(), known)) {
    fiber->sums.push_back({sums, {sums, sums + columns / 2}});
    std::fill(sums, sums + columns / 2, NAN);
  }
  fiber->products.push_back(made);
}

static void emulated_multiply(const emulated::Product& product, float* sums) {
  const int column = emulated::fiber->number % 4 * 2, chunk = product.depth / 2;
  for (int i = 0; i < product.columns / 2; ++i) {
    double sum = sums[i];
    const int at = i / 4 * 8 + column + i % 2;
    for (int k = 0; k < product.depth; ++k) {
      const int place = (k / chunk * product.line + at) * chunk + k % chunk;
      sum += double(product.a[i / 2 % 2][k]) * double(product.element(product.b, place));
    }
    sums[i] = rounded_toward_zero(sum);
  }
}

__attribute__((noinline)) static void emulated_wait_for_products(int groups) {
  auto& products = emulated::fiber->products;
  size_t done = 0;
  for (; done < products.size() && products[done].group < emulated::fiber->product_groups - groups; ++done)
    for (emulated::Sums& each : emulated::fiber->sums)
      if (each.place == products[done].sums) emulated_multiply(products[done], each.values.data());
  products.erase(products.begin(), products.begin() + done);
  std::erase_if(emulated::fiber->sums, [&](const emulated::Sums& each) {
    for (const emulated::Product& product : products)
      if (product.sums == each.place) return false;
    std::copy(each.values.begin(), each.values.end(), each.place);
    return true;
  });
}
template <int Groups>
static void warpgroup_wait() {
  emulated_wait_for_products(Groups);
  emulated::exchange("waits for products", {});
}

template <int J>
static void wgmma(float (&sums)[J][4], vec<float, 4> a, const float* b, int line) {
  emulated_wgmma<8>(&sums[0][0], 8 * J, a, b, line,
                    [](u32 word, int) { return emulated_bits<float>(word & ~0x1fffu); },
                    [](const void* b, int at) {
                      return emulated_bits<float>(static_cast<const u32*>(b)[at] & ~0x1fffu);
                    });
}
template <int J>
static void wgmma(float (&sums)[J][4], vec<f16, 8> a, const f16* b, int line) {
  emulated_wgmma<16>(&sums[0][0], 8 * J, a, b, line,
                     [](u32 word, int low) { return to_f32(f16{u16(word >> 16 * low)}); },
                     [](const void* b, int at) { return to_f32(static_cast<const f16*>(b)[at]); });
}
template <int J>
static void wgmma(float (&sums)[J][4], vec<bf16, 8> a, const bf16* b, int line) {
  emulated_wgmma<16>(&sums[0][0], 8 * J, a, b, line,
                     [](u32 word, int low) { return emulated_bits<float>(low ? word & 0xffff0000u : word << 16); },
                     [](const void* b, int at) {
                       return emulated_bits<float>(u32(static_cast<const bf16*>(b)[at].bits) << 16);
                     });
}
