// RUN: not mini-opt %s -p lower-to-llvm 2>&1 | filecheck %s

// CHECK: /pool (memref.alloc) in @f: this operation can't be lowered to LLVM
func.func @f() {
  %a = memref.alloc() : memref<4xf32> loc("/pool")
  func.return
}
