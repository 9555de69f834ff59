// RUN: mini-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{there is no address space 'far'; there are workgroup, private}}
func.func @f(%m: memref<4xf32, #gpu.address_space<far>>) {
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{shared memory is memref<?xi8, #gpu.address_space<workgroup>>, not memref<?xf32>}}
  %s = gpu.dynamic_shared_memory : memref<?xf32>
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{there is no shuffle 'around'; there are xor, up, down, idx}}
  %r, %ok = gpu.shuffle around %x, %i, %i : f32
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{a shuffle exchanges f32 or an integer of 32 bits, not f64}}
  %r, %ok = gpu.shuffle xor %d, %i, %i : f64
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{attribute f32 expected from variable '_T', but got i32}}
  %r, %ok = "gpu.shuffle"(%x, %i, %i) <{mode = "xor"}> : (f32, i32, i32) -> (i32, i1)
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{an asynchronous copy goes to shared memory}}
  nvgpu.device_async_copy %m[%n], %m[%n], 4 : memref<8xf32> to memref<8xf32>
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{a copy from f32 to f16}}
  nvgpu.device_async_copy %m[%n], %h[%n], 4 : memref<8xf32> to memref<8xf16, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{expected 1 indices for memref<8xf32>, got 2}}
  nvgpu.device_async_copy %m[%n, %n], %t[%n], 4 : memref<8xf32> to memref<8xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{a copy of 12 bytes; it may have 4, 8, 16}}
  nvgpu.device_async_copy %m[%n], %t[%n], 3 : memref<8xf32> to memref<8xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{there can't be -1 groups in flight}}
  nvgpu.device_async_wait -1
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{there is no product of f64}}
  %p = nvgpu.mma.sync(%v64, %v64, %v64) : (vector<4xf64>, vector<4xf64>, vector<4xf64>) -> vector<4xf64>
  func.return
}

// -----

func.func @f(%x: f32, %d: f64, %i: i32, %n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %h: memref<8xf16, #gpu.address_space<workgroup>>, %v: vector<4xf32>, %v64: vector<4xf64>) {
  // expected-error @below {{b is vector<4xf32>; it must be vector<2xf32>}}
  %p = nvgpu.mma.sync(%v, %v, %v) : (vector<4xf32>, vector<4xf32>, vector<4xf32>) -> vector<4xf32>
  func.return
}

// -----

func.func @f(%n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %w: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{matrices are loaded from shared memory}}
  %p = nvgpu.ldmatrix %m[%n] {numTiles = 4 : i32, transpose = false} : memref<8xf32> -> vector<4xf32>
  func.return
}

// -----

func.func @f(%n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %w: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{matrices of f64; elements may have 1, 2, 4 bytes}}
  %p = nvgpu.ldmatrix %w[%n] {numTiles = 4 : i32, transpose = false} : memref<8xf64, #gpu.address_space<workgroup>> -> vector<2xf64>
  func.return
}

// -----

func.func @f(%n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %w: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{matrices of f32 can't be transposed; elements of 2 bytes can}}
  %p = nvgpu.ldmatrix %t[%n] {numTiles = 4 : i32, transpose = true} : memref<8xf32, #gpu.address_space<workgroup>> -> vector<4xf32>
  func.return
}

// -----

func.func @f(%n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %w: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{3 matrices; there may be 1, 2, 4}}
  %p = nvgpu.ldmatrix %t[%n] {numTiles = 3 : i32, transpose = false} : memref<8xf32, #gpu.address_space<workgroup>> -> vector<3xf32>
  func.return
}

// -----

func.func @f(%n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %w: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expected 1 indices for memref<8xf32, #gpu.address_space<workgroup>>, got 2}}
  %p = nvgpu.ldmatrix %t[%n, %n] {numTiles = 4 : i32, transpose = false} : memref<8xf32, #gpu.address_space<workgroup>> -> vector<4xf32>
  func.return
}

// -----

func.func @f(%n: index, %m: memref<8xf32>, %t: memref<8xf32, #gpu.address_space<workgroup>>, %w: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{the result is vector<2xf32>; it must be vector<4xf32>}}
  %p = nvgpu.ldmatrix %t[%n] {numTiles = 4 : i32, transpose = false} : memref<8xf32, #gpu.address_space<workgroup>> -> vector<2xf32>
  func.return
}

// -----

func.func @f(%a: vector<16xui8>, %b: vector<8xf16>, %c: vector<4xi32>) {
  // expected-error @below {{b is vector<8xf16>; it must be vector<8xi8>}}
  %p = nvgpu.mma.sync(%a, %b, %c) : (vector<16xui8>, vector<8xf16>, vector<4xi32>) -> vector<4xi32>
  func.return
}

// -----

gpu.module @kernels {
  // expected-error @below {{the arguments of a gpu.func differ from its type}}
  "gpu.func"() <{function_type = (f32) -> (), kernel}> ({
    gpu.return
  }) {sym_name = "k"} : () -> ()
}

// -----

gpu.module @kernels {
  // expected-error @below {{a kernel has no results}}
  "gpu.func"() <{function_type = () -> (f32), kernel}> ({
    gpu.return
  }) {sym_name = "k"} : () -> ()
}

// -----

gpu.module @kernels {
  // expected-error @below {{gpu.known_block_size is array<i32: 32, 0, 1>; it must be three positive numbers}}
  gpu.func @k() kernel attributes {gpu.known_block_size = array<i32: 32, 0, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{gpu.known_grid_size is array<i32: 32>; it must be three positive numbers}}
  gpu.func @k() kernel attributes {gpu.known_grid_size = array<i32: 32>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{a grid of 65536 blocks along y; a launch has at most 65535}}
  gpu.func @k() kernel attributes {gpu.known_grid_size = array<i32: 2147483647, 65536, 65535>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{a grid of 70000 blocks along z; a launch has at most 65535}}
  gpu.func @k() kernel attributes {gpu.known_grid_size = array<i32: 1, 1, 70000>} {
    gpu.return
  }
}

// -----

// expected-error @below {{barriers lie in shared memory}}
func.func @f(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<private>, num_barriers = 2>) {
  func.return
}

// -----

// expected-error @below {{a group of 0 barriers; it must have at least one}}
func.func @f(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 0>) {
  func.return
}

// -----

func.func @f(%m: memref<64xf32>, %s: memref<64xf32>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, %i: index) {
  // expected-error @below {{a bulk copy goes to shared memory}}
  nvgpu.bulk_async_copy %m[%i], %s[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  func.return
}

// -----

func.func @f(%m: memref<64xf32>, %s: memref<64xf16, #gpu.address_space<workgroup>>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, %i: index) {
  // expected-error @below {{a copy from f32 to f16}}
  nvgpu.bulk_async_copy %m[%i], %s[%i], %b[%i], 4 : memref<64xf32> to memref<64xf16, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  func.return
}

// -----

func.func @f(%m: memref<64xf32>, %s: memref<64xf32, #gpu.address_space<workgroup>>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, %i: index) {
  // expected-error @below {{expected 1 indices for memref<64xf32>, got 2}}
  nvgpu.bulk_async_copy %m[%i, %i], %s[%i], %b[%i], 4 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  func.return
}

// -----

func.func @f(%m: memref<8x8xf32, strided<[16, 1]>>, %s: memref<64xf32, #gpu.address_space<workgroup>>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, %i: index) {
  // expected-error @below {{a bulk copy of contiguous elements from or to memref<8x8xf32, strided<[16, 1]>>}}
  nvgpu.bulk_async_copy %m[%i, %i], %s[%i], %b[%i], 4 : memref<8x8xf32, strided<[16, 1]>> to memref<64xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  func.return
}

// -----

func.func @f(%m: memref<64xf32>, %s: memref<64xf32, #gpu.address_space<workgroup>>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, %i: index) {
  // expected-error @below {{a copy of 68 elements from or to memref<64xf32>}}
  nvgpu.bulk_async_copy %m[%i], %s[%i], %b[%i], 68 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  func.return
}

// -----

func.func @f(%m: memref<64xf32>, %s: memref<64xf32, #gpu.address_space<workgroup>>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>, %i: index) {
  // expected-error @below {{a bulk copy of 24 bytes; it must be a multiple of 16}}
  nvgpu.bulk_async_copy %m[%i], %s[%i], %b[%i], 6 : memref<64xf32> to memref<64xf32, #gpu.address_space<workgroup>>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>
  func.return
}

// -----

func.func @f() {
  // expected-error @below {{there can't be -1 groups in flight}}
  nvgpu.warpgroup.wait -1
  func.return
}

// -----

func.func @f(%x: memref<2xf32>) {
  // expected-error @below {{a wait behind memref<2xf32>; it must be a private array of f32 with one dimension}}
  nvgpu.warpgroup.wait 0 behind %x : memref<2xf32>
  func.return
}

// -----

func.func @f(%a: vector<4xf64>, %b: memref<2x16x4xf32, #gpu.address_space<workgroup>>, %sums: memref<2x4xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{there is no product of f64}}
  nvgpu.warpgroup.mma %a, %b[%i, %i, %i], %sums : vector<4xf64>, memref<2x16x4xf32, #gpu.address_space<workgroup>>, memref<2x4xf32, #gpu.address_space<private>>
  func.return
}

// -----

func.func @f(%a: vector<8xf32>, %b: memref<2x16x4xf32, #gpu.address_space<workgroup>>, %sums: memref<2x4xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{a is vector<8xf32>; it must be vector<4xf32>}}
  nvgpu.warpgroup.mma %a, %b[%i, %i, %i], %sums : vector<8xf32>, memref<2x16x4xf32, #gpu.address_space<workgroup>>, memref<2x4xf32, #gpu.address_space<private>>
  func.return
}

// -----

func.func @f(%a: vector<4xf32>, %b: memref<2x16x4xf32>, %sums: memref<2x4xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{b is memref<2x16x4xf32>; it must be f32 in shared memory}}
  nvgpu.warpgroup.mma %a, %b[%i, %i, %i], %sums : vector<4xf32>, memref<2x16x4xf32>, memref<2x4xf32, #gpu.address_space<private>>
  func.return
}

// -----

func.func @f(%a: vector<4xf32>, %b: memref<2x16x8xf32, #gpu.address_space<workgroup>>, %sums: memref<2x4xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{b is memref<2x16x8xf32, #gpu.address_space<workgroup>>; its last dimensions must be chunks, columns and 4}}
  nvgpu.warpgroup.mma %a, %b[%i, %i, %i], %sums : vector<4xf32>, memref<2x16x8xf32, #gpu.address_space<workgroup>>, memref<2x4xf32, #gpu.address_space<private>>
  func.return
}

// -----

func.func @f(%a: vector<4xf32>, %b: memref<2x16x4xf32, #gpu.address_space<workgroup>>, %sums: memref<2x4xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{expected 3 indices for memref<2x16x4xf32, #gpu.address_space<workgroup>>, got 2}}
  nvgpu.warpgroup.mma %a, %b[%i, %i], %sums : vector<4xf32>, memref<2x16x4xf32, #gpu.address_space<workgroup>>, memref<2x4xf32, #gpu.address_space<private>>
  func.return
}

// -----

func.func @f(%a: vector<4xf32>, %b: memref<2x16x4xf32, #gpu.address_space<workgroup>>, %sums: memref<3x4xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{24 columns; there must be 8, 16, ..., 16}}
  nvgpu.warpgroup.mma %a, %b[%i, %i, %i], %sums : vector<4xf32>, memref<2x16x4xf32, #gpu.address_space<workgroup>>, memref<3x4xf32, #gpu.address_space<private>>
  func.return
}

// -----

func.func @f(%a: vector<4xf32>, %b: memref<2x16x4xf32, #gpu.address_space<workgroup>>, %sums: memref<4x3xf32, #gpu.address_space<private>>, %i: index) {
  // expected-error @below {{the sums are memref<4x3xf32, #gpu.address_space<private>>; they must be a private array of columns / 8 x 4 f32}}
  nvgpu.warpgroup.mma %a, %b[%i, %i, %i], %sums : vector<4xf32>, memref<2x16x4xf32, #gpu.address_space<workgroup>>, memref<4x3xf32, #gpu.address_space<private>>
  func.return
}

// -----

builtin.module attributes {kernel.symbols = #kernel.symbols<dim n = 4 in [1, 8]>} {
  gpu.module @kernels {
    // expected-error @below {{kernel.sizes lists what the last arguments are: each must be an index}}
    gpu.func @f(%x: memref<(n)xf32>) kernel attributes {kernel.sizes = [(n) : index]} {
      gpu.return
    }
  }
}

// -----

builtin.module attributes {kernel.symbols = #kernel.symbols<dim n = 4 in [1, 8]>} {
  gpu.module @kernels {
    // expected-error @below {{kernel.sizes lists symbols of sizes, and not n * 2}}
    gpu.func @f(%x: memref<(n)xf32>, %n: index) kernel attributes {kernel.sizes = [(n * 2) : index]} {
      gpu.return
    }
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{gpu.known_cluster_size is array<i32: 9, 1, 1>; a cluster has at most 8 blocks along x only}}
  gpu.func @k() kernel attributes {gpu.known_cluster_size = array<i32: 9, 1, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{gpu.known_cluster_size is array<i32: 1, 2, 1>; a cluster has at most 8 blocks along x only}}
  gpu.func @k() kernel attributes {gpu.known_cluster_size = array<i32: 1, 2, 1>} {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{10 blocks along x are no whole number of clusters of 4}}
  gpu.func @k() kernel attributes {gpu.known_grid_size = array<i32: 10, 1, 1>, gpu.known_cluster_size = array<i32: 4, 1, 1>} {
    gpu.return
  }
}

// -----

func.func @f(%n: index, %m: memref<8xf32>) {
  // expected-error @below {{blocks of a cluster read each other's shared memory, no other}}
  %p = nvgpu.cluster_load %m[%n] of %n : memref<8xf32> -> f32
  func.return
}

// -----

func.func @f(%n: index, %t: memref<8xf64, #gpu.address_space<workgroup>>) {
  // expected-error @below {{elements are f32 or i32, not f64}}
  %p = nvgpu.cluster_load %t[%n] of %n : memref<8xf64, #gpu.address_space<workgroup>> -> f64
  func.return
}

// -----

func.func @f(%n: index, %t: memref<8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{expected 1 indices for memref<8xf32, #gpu.address_space<workgroup>>, got 2}}
  %p = nvgpu.cluster_load %t[%n, %n] of %n : memref<8xf32, #gpu.address_space<workgroup>> -> f32
  func.return
}

// -----

func.func @f(%n: index, %t: memref<8xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{the result is vector<8xf32>; it must be one, 2 or 4 of f32}}
  %p = nvgpu.cluster_load %t[%n] of %n : memref<8xf32, #gpu.address_space<workgroup>> -> vector<8xf32>
  func.return
}

// -----

func.func @f(%m: memref<2xi32>) {
  // expected-error @below {{the counter is one i32 in global memory, not memref<2xi32>}}
  nvgpu.grid_barrier %m : memref<2xi32>
  func.return
}

// -----

func.func @f(%m: memref<1xi32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{the counter is one i32 in global memory, not memref<1xi32, #gpu.address_space<workgroup>>}}
  nvgpu.grid_barrier %m : memref<1xi32, #gpu.address_space<workgroup>>
  func.return
}

// -----

gpu.module @kernels {
  gpu.func @k(%m: memref<1xi32>) kernel {
    // expected-error @below {{blocks of a kernel that is not cooperative need not run at the same time}}
    nvgpu.grid_barrier %m : memref<1xi32>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{a kernel with clusters of 2 blocks is not cooperative, too}}
  gpu.func @k() kernel attributes {gpu.known_cluster_size = array<i32: 2, 1, 1>, nvgpu.cooperative} {
    gpu.return
  }
}

// -----

// expected-error @below {{there is no swizzle 'swizzle_96b'; there are none, swizzle_32b, swizzle_64b, swizzle_128b}}
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_96b, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// expected-error @below {{boxes are copied to shared memory}}
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32>, swizzle = none, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// expected-error @below {{a map of f64; there are maps of f32, f16, bf16}}
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<16x2xf64, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// expected-error @below {{a box of (512, 32); it has 1 to 5 dimensions of 1 to 256 elements}}
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<512x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// expected-error @below {{lines of 12 bytes; they must be a multiple of 16}}
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<16x3xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

// expected-error @below {{lines of 128 bytes; with swizzle_64b they have at most 64}}
func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>) {
  func.return
}

// -----

func.func @f(%x: memref<50xf32>) {
  // expected-error @below {{boxes of memref<16x32xf32, #gpu.address_space<workgroup>> are none of memref<50xf32>}}
  %m = nvgpu.tma.create.descriptor %x : memref<50xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32, strided<[1, 50]>>) {
  // expected-error @below {{its strides must be known, and the last one 1}}
  %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32, strided<[1, 50]>> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  func.return
}

// -----

func.func @f(%x: memref<?x64xf32>) {
  // expected-error @below {{its dimensions must be known and of at most 2^32 elements}}
  %m = nvgpu.tma.create.descriptor %x : memref<?x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  func.return
}

// -----

func.func @f(%x: memref<50x50xf32>) {
  // expected-error @below {{200 bytes from one to the next; they must be a multiple of 16}}
  %m = nvgpu.tma.create.descriptor %x : memref<50x50xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32>, %n: index) {
  %v = memref.reinterpret_cast %x to offset: [%n], sizes: [40, 64], strides: [64, 1] : memref<50x64xf32> to memref<40x64xf32, strided<[64, 1], offset: ?>>
  // expected-error @below {{a map is of an argument of the kernel, or of a view of one at a constant offset}}
  %m = nvgpu.tma.create.descriptor %v : memref<40x64xf32, strided<[64, 1], offset: ?>> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32>, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>, %t: memref<16x32xf32, #gpu.address_space<workgroup>>) {
  %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  // expected-error @below {{expected 2 coordinates, got 1}}
  nvgpu.tma.async.load %m[%n], %b[%n] to %t[%n, %n] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1> -> memref<16x32xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32>, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>, %t: memref<16x32xf32>) {
  %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  // expected-error @below {{a box of memref<16x32xf32, #gpu.address_space<workgroup>> is copied to memref<16x32xf32>}}
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %t[%n, %n] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1> -> memref<16x32xf32>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32>, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>, %t: memref<3x16x32xf32, #gpu.address_space<workgroup>>) {
  %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  // expected-error @below {{expected 3 indices for memref<3x16x32xf32, #gpu.address_space<workgroup>>, got 2}}
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %t[%n, %n] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1> -> memref<3x16x32xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32>, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>, %t: memref<16x32xf32, strided<[40, 1]>, #gpu.address_space<workgroup>>) {
  %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  // expected-error @below {{which is not contiguous}}
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %t[%n, %n] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1> -> memref<16x32xf32, strided<[40, 1]>, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%x: memref<50x64xf32>, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>, %t: memref<16x64xf32, #gpu.address_space<workgroup>>) {
  %m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>
  // expected-error @below {{whose last dimensions are others}}
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %t[%n, %n] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1> -> memref<16x64xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f(%m: !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, %n: index, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1>, %t: memref<16x32xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{the map of a copy is made in the same kernel}}
  nvgpu.tma.async.load %m[%n, %n], %b[%n] to %t[%n, %n] : !nvgpu.tensormap.descriptor<tensor = memref<16x32xf32, #gpu.address_space<workgroup>>, swizzle = none, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 1> -> memref<16x32xf32, #gpu.address_space<workgroup>>
  func.return
}

// -----

func.func @f() {
  // expected-error @below {{registers 'double'; they may increase or decrease}}
  nvgpu.setmaxregister double 232
  func.return
}

// -----

func.func @f() {
  // expected-error @below {{250 registers; there may be 24, 32, ..., 256}}
  nvgpu.setmaxregister increase 250
  func.return
}
