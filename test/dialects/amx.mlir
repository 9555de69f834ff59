// Tiles of a matrix are read back as they are written, and lowered to LLVM's intrinsics, which assign registers.
// RUN: mini-opt %s | mini-opt | filecheck %s
// RUN: mini-opt %s --pass-pipeline="builtin.module(lower-to-llvm)" | filecheck %s --check-prefix=LLVM

builtin.module attributes {kernel.target = #kernel.cpu<"sapphirerapids" has ["tdpbf16ps", "tdpbusd"], vector_bits = 512, registers = 32>} {
  // CHECK-LABEL: func.func @bf16
  func.func @bf16(%x: memref<40x64xbf16>, %w: memref<32x64xbf16>, %y: memref<40x32xf32>, %i: index, %k: index, %j: index) {
    // CHECK-NEXT: %[[Z:.*]] = amx.tile_zero : !amx.tile<8x16xf32>
    // CHECK-NEXT: %[[A:.*]] = amx.tile_load %x[%i, %k] : memref<40x64xbf16> into !amx.tile<8x32xbf16>
    // CHECK-NEXT: %[[B:.*]] = amx.tile_load %w[%k, %j] : memref<32x64xbf16> into !amx.tile<16x32xbf16>
    // CHECK-NEXT: %[[S:.*]] = amx.tile_mulf %[[A]], %[[B]], %[[Z]] : !amx.tile<8x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<8x16xf32>
    // CHECK-NEXT: amx.tile_store %y[%i, %j], %[[S]] : memref<40x32xf32>, !amx.tile<8x16xf32>
    // LLVM: llvm.call_intrinsic "llvm.x86.tilezero.internal"(%{{.*}}) : (i16, i16) -> !llvm.x86_amx
    // LLVM: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
    // LLVM: llvm.call_intrinsic "llvm.x86.tileloadd64.internal"
    // LLVM: llvm.call_intrinsic "llvm.x86.tdpbf16ps.internal"
    // LLVM: llvm.call_intrinsic "llvm.x86.tilestored64.internal"
    %zero = amx.tile_zero : !amx.tile<8x16xf32>
    %a = amx.tile_load %x[%i, %k] : memref<40x64xbf16> into !amx.tile<8x32xbf16>
    %b = amx.tile_load %w[%k, %j] : memref<32x64xbf16> into !amx.tile<16x32xbf16>
    %sums = amx.tile_mulf %a, %b, %zero : !amx.tile<8x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<8x16xf32>
    amx.tile_store %y[%i, %j], %sums : memref<40x32xf32>, !amx.tile<8x16xf32>
    func.return
  }
  // CHECK-LABEL: func.func @bytes
  func.func @bytes(%x: memref<40x64xui8>, %w: memref<16x128xi8>, %y: memref<40x32xi32>, %i: index) {
    %zero = amx.tile_zero : !amx.tile<16x16xi32>
    %a = amx.tile_load %x[%i, %i] : memref<40x64xui8> into !amx.tile<16x64xi8>
    %b = amx.tile_load %w[%i, %i] : memref<16x128xi8> into !amx.tile<16x64xi8>
    // CHECK: amx.tile_muli %{{.*}}, %{{.*}}, %{{.*}} {zext_lhs} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    // LLVM: llvm.call_intrinsic "llvm.x86.tdpbusd.internal"
    %sums = amx.tile_muli %a, %b, %zero {zext_lhs} : !amx.tile<16x64xi8>, !amx.tile<16x64xi8>, !amx.tile<16x16xi32>
    amx.tile_store %y[%i, %i], %sums : memref<40x32xi32>, !amx.tile<16x16xi32>
    func.return
  }
}
