// What tiles and their products must not be.
// RUN: mini-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{a tile has 1 to 16 rows, not 17}}
func.func private @f(!amx.tile<17x16xf32>)

// -----

// expected-error @below {{a tile's rows have whole words of 4 bytes, 64 at most, not 66}}
func.func private @f(!amx.tile<16x33xbf16>)

// -----

// expected-error @below {{a tile has elements of bf16, f32, i8 or i32, not of f64}}
func.func private @f(!amx.tile<16x8xf64>)

// -----

func.func @f(%a: !amx.tile<8x32xbf16>, %b: !amx.tile<8x32xbf16>, %c: !amx.tile<8x16xf32>) {
  // expected-error @below {{by !amx.tile<8x32xbf16> has no sums of !amx.tile<8x16xf32>}}
  %d = amx.tile_mulf %a, %b, %c : !amx.tile<8x32xbf16>, !amx.tile<8x32xbf16>, !amx.tile<8x16xf32>
  func.return
}

// -----

func.func @f(%x: memref<40x64xbf16, strided<[128, 2]>>, %i: index) {
  // expected-error @below {{a tile's rows have no gaps}}
  %a = amx.tile_load %x[%i, %i] : memref<40x64xbf16, strided<[128, 2]>> into !amx.tile<8x32xbf16>
  func.return
}

// -----

func.func @f(%x: memref<40x64xf32>, %i: index) {
  // expected-error @below {{a memref of f32 has no tiles of bf16}}
  %a = amx.tile_load %x[%i, %i] : memref<40x64xf32> into !amx.tile<8x32xbf16>
  func.return
}
