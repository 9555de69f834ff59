// RUN: mini-opt %s -p plan-arena | filecheck %s
// RUN: mini-opt %s -p plan-arena --statistics 2>&1 | filecheck %s --check-prefix=COUNTS
// RUN: mini-opt %s -p 'plan-arena{strategy=naive alignment=64}' | filecheck %s --check-prefix=NAIVE
// RUN: mini-opt %s -p 'plan-arena{strategy=pools}' | filecheck %s --check-prefix=POOLS
// RUN: not mini-opt %s -p 'plan-arena{capacity=1000}' 2>&1 | filecheck %s --check-prefix=FULL
// RUN: not mini-opt %s -p 'plan-arena{alignment=48}' 2>&1 | filecheck %s --check-prefix=ALIGNED
// RUN: not mini-opt %s -p 'plan-arena{alignment=4}' 2>&1 | filecheck %s --check-prefix=SMALL
// RUN: not mini-opt %s -p 'elide-copies{alignment=48}' 2>&1 | filecheck %s --check-prefix=ELIDE
// RUN: not mini-opt %s -p 'plan-arena{strategy=best}' 2>&1 | filecheck %s --check-prefix=UNKNOWN

graph.kernel @k(%x: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.relu %x : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @sum(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %r = graph.add %x, %y : tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}
graph.kernel @part(%x: tensor<8x4xf32>) -> tensor<64xf32> {
  %a = graph.concat %x, %x {axis = 0 : i64} : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %r = graph.reshape %a {shape = array<i64: 64>} : (tensor<16x4xf32>) -> tensor<64xf32>
  graph.yield %r : tensor<64xf32>
}

// step                  0 k   1 k   2 sum  3 part
// %a 256 B  [0, 3)      a     a     a
// %s 512 B  [1, 2)            s                     scratch
// %b 256 B  [1, 3)            b     b
// %c 256 B  [2, 4)                  c      c
// bytes live            256   1024  768    256      the bound is 1024, at step 1; %c goes where %s was
// CHECK:      func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"},
// CHECK-SAME:   %arena: memref<1024xi8> {graph.role = "arena"}) attributes {kernel.plan =
// CHECK-SAME:   {strategy = "auto", method = "{{.*}}", alignment = 256 : i64, arena_bytes = 1024 : i64, lower_bound = 1024 : i64, proven_bound = 1024 : i64, optimal = true, binding_step = 1 : i64, total_bytes = 1280 : i64, original_bytes = 1280 : i64}}
// CHECK:      %[[A:.*]] = memref.view %arena[%{{.*}}][] {buffer = 0 : i64, birth = 0 : i64, death = 3 : i64, name = "a"} : memref<1024xi8> to memref<64xf32>
// CHECK-NEXT: kernel.call @k ins(%x : memref<64xf32>) outs(%[[A]] : memref<64xf32>)
// CHECK:      memref.view %arena[%{{.*}}][] {buffer = 1 : i64, birth = 1 : i64, death = 2 : i64, kernel.scratch, name = "b"} : memref<1024xi8> to memref<512xi8>
// CHECK:      memref.view %arena[%{{.*}}][] {buffer = 2 : i64, birth = 1 : i64, death = 3 : i64, name = "b"}
// CHECK:      memref.view %arena[%{{.*}}][] {buffer = 3 : i64, birth = 2 : i64, death = 4 : i64, name = "c"}
// A view of a buffer becomes a view of the arena: dense, it is like any other buffer; with holes, it keeps its strides.
// CHECK-NEXT: kernel.call @sum
// CHECK-NEXT: %[[L:.*]] = memref.view %arena[%{{.*}}][] {buffer = 3 : i64, birth = 2 : i64, death = 4 : i64, name = "c"} : memref<1024xi8> to memref<60xf32>
// CHECK-NEXT: %[[P:.*]] = memref.reinterpret_cast %[[L]] to offset: [0], sizes: [8, 4], strides: [8, 1] {{.*}} : memref<60xf32> to memref<8x4xf32, strided<[8, 1]>>
// CHECK-NEXT: kernel.call @part ins(%[[P]] : memref<8x4xf32, strided<[8, 1]>>) outs(%y : memref<64xf32>)

// Amounts come after counts.
// COUNTS:      plan-arena  ops gone
// COUNTS-NEXT: {{^}}  1280  plan-arena  bytes of all tensors
// COUNTS-NEXT: {{^}}  1024  plan-arena  bytes of the arena
// COUNTS-NEXT: {{^}}   256  plan-arena  bytes saved

// Without reuse: 256 + 512 + 256 + 256.
// NAIVE: %arena: memref<1280xi8>
// NAIVE: kernel.plan = {strategy = "naive", method = "naive", alignment = 64 : i64, arena_bytes = 1280 : i64, lower_bound = 1024 : i64, proven_bound = 1024 : i64, optimal = false

// Pools by size: {%s, %c} 512, {%a} 256, {%b} 256. The views of %c and its parts name the first pool.
// POOLS: %arena: memref<1024xi8>
// POOLS: pools = {{\[\[}}0 : i64, 512 : i64], [512 : i64, 256 : i64], [768 : i64, 256 : i64]]
// POOLS: {buffer = 0 : i64, birth = 0 : i64, death = 3 : i64, pool = 1 : i64, name = "a"}
// POOLS: {buffer = 1 : i64, birth = 1 : i64, death = 2 : i64, pool = 0 : i64, kernel.scratch, name = "b"}
// POOLS: {buffer = 3 : i64, birth = 2 : i64, death = 4 : i64, pool = 0 : i64, name = "c"}

// FULL: plan-arena: {{.*}} are live together at step 1: 1024 bytes, the capacity is 1000
// ALIGNED: plan-arena: alignment is 48; it must be a power of two of at least 8 bytes
// SMALL: plan-arena: alignment is 4; it must be a power of two of at least 8 bytes
// ELIDE: elide-copies: alignment is 48; it must be a power of two of at least 8 bytes
// UNKNOWN: plan-arena: unknown strategy 'best'
func.func @main(%x: memref<64xf32> {graph.role = "input"}, %y: memref<64xf32> {graph.role = "output"}) {
  %a = memref.alloc() {name = "a"} : memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%a : memref<64xf32>)
  %s = memref.alloc() {kernel.scratch, name = "b"} : memref<512xi8>
  %b = memref.alloc() {name = "b"} : memref<64xf32>
  kernel.call @k ins(%x : memref<64xf32>) outs(%b : memref<64xf32>) scratch(%s : memref<512xi8>)
  %c = memref.alloc() {name = "c"} : memref<64xf32>
  kernel.call @sum ins(%a, %b : memref<64xf32>, memref<64xf32>) outs(%c : memref<64xf32>)
  %p = memref.reinterpret_cast %c to offset: [4], sizes: [8, 4], strides: [8, 1] : memref<64xf32> to memref<8x4xf32, strided<[8, 1], offset: 4>>
  kernel.call @part ins(%p : memref<8x4xf32, strided<[8, 1], offset: 4>>) outs(%y : memref<64xf32>)
  // Nobody touches this one, so it gets no place.
  %unused = memref.alloc() {name = "unused"} : memref<64xf32>
  func.return
}
