// RUN: mini-opt %s -p lower-to-llvm | filecheck %s
// RUN: mini-opt %s -t llvm-ir | filecheck %s --check-prefix=TEXT

// What the arguments of main are for stays beside the pointers, and which node a call came from.
// CHECK-LABEL: llvm.func @main(
// CHECK-SAME:    !llvm.ptr {graph.name = "x", graph.role = "input", graph.type = memref<4xf32>}
// CHECK-SAME:    attributes {kernel.plan = {arena_bytes = 0 : i64}
// CHECK:         llvm.call @kernel_k(%{{.*}}) : (!llvm.ptr) -> () loc("layer1/relu")
builtin.module attributes {mini_infer.level = "loops"} {
func.func private @kernel_k(memref<4xf32>)
func.func @main(%x: memref<4xf32> {graph.name = "x", graph.role = "input"}, %a: memref<16xi32>, %b: index, %c: index) attributes {kernel.plan = {arena_bytes = 0 : i64}} {
  func.call @kernel_k(%x) : (memref<4xf32>) -> () loc("layer1/relu")
  func.return
}
}

// TEXT: define void @main(ptr %{{.*}}, ptr %{{.*}}, i64 %{{.*}}, i64 %{{.*}}) nounwind
