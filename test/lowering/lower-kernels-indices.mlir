// RUN: mini-opt %s -p lower-kernels | mini-opt | filecheck %s

// Wherever nodes note what is wrong, they share their code.
// CHECK-LABEL: func.func @main(
// CHECK:         func.call @kernel_rows(%x, %i, %y, %a,
// CHECK-NEXT:    func.call @kernel_unsigned(%x, %u, %y, %b,
// CHECK-NEXT:    func.call @kernel_rows(%x, %i, %y, %c,

// Each share looks through its part of the indices first, and notes the smallest or the largest where it is outside.
// The loop that moves elements then asks no more than before: what it makes of an index is a place inside.
// CHECK-LABEL: func.func private @kernel_rows(
// CHECK-SAME:    %{{[0-9]+}}: memref<5xf32>, %[[I:[0-9]+]]: memref<40xi32>, %{{[0-9]+}}: memref<40xf32>, %[[STATUS:[0-9]+]]: memref<1xi64>, %{{.*}}: index, %{{.*}}: index)
// CHECK-DAG:     %[[LAST:.*]] = arith.constant 4 : i64
// CHECK-DAG:     %[[FIRST:.*]] = arith.constant -5 : i64
// CHECK:         %[[MIN:.*]], %[[MAX:.*]] = scf.for {{.*}} -> (i32, i32) {
// CHECK-NOT:       memref.store
// CHECK:           scf.yield
// CHECK:         %[[SMALLEST:.*]] = arith.extsi %[[MIN]] : i32 to i64
// CHECK:         %[[BELOW:.*]] = arith.cmpi slt, %{{.*}}, %[[FIRST]] : i64
// CHECK-NEXT:    scf.if %[[BELOW]] {
// CHECK-NEXT:      memref.store %[[SMALLEST]], %[[STATUS]]
// CHECK:         %[[ABOVE:.*]] = arith.cmpi sgt, %{{.*}}, %[[LAST]] : i64
// CHECK-NEXT:    scf.if %[[ABOVE]] {
// CHECK:         scf.for
// CHECK-NOT:       scf.if
// CHECK:           arith.cmpi ult
// CHECK:           memref.store {{.*}} : memref<40xf32

// An unsigned index can only be too large.
// CHECK-LABEL: func.func private @kernel_unsigned(
// CHECK:         scf.for {{.*}} -> (i8) {
// CHECK:           scf.yield
// CHECK:         arith.cmpi ugt
// CHECK-NEXT:    scf.if
// CHECK-NOT:     scf.if

// A graph.fail is noted without a question, and its result is zeros.
// CHECK-LABEL: func.func private @kernel_fail(
// CHECK-SAME:    %{{[0-9]+}}: memref<40xf32>, %[[STATUS:[0-9]+]]: memref<1xi64>, %{{.*}}: index, %{{.*}}: index)
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[ONE:.*]] = arith.constant 1 : i64
// CHECK:         memref.store %[[ONE]], %[[STATUS]]
// CHECK:         scf.for
// CHECK-NEXT:      %[[ZEROS:.*]] = vector.broadcast %[[ZERO]]
// CHECK-NEXT:      vector.store %[[ZEROS]]
builtin.module attributes {kernel.target = #kernel.cpu<"generic", vector_bits = 128, registers = 16, l2 = 1048576, threads = 2>} {
  func.func @main(%x: memref<5xf32>, %i: memref<40xi32>, %u: memref<40xui8>, %y: memref<40xf32>, %s: memref<32xi8>) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c24 = arith.constant 24 : index
    %a = memref.view %s[%c0][] : memref<32xi8> to memref<1xi64>
    %b = memref.view %s[%c8][] : memref<32xi8> to memref<1xi64>
    %c = memref.view %s[%c16][] : memref<32xi8> to memref<1xi64>
    %d = memref.view %s[%c24][] : memref<32xi8> to memref<1xi64>
    kernel.call @rows ins(%x, %i : memref<5xf32>, memref<40xi32>) outs(%y : memref<40xf32>) status(%a : memref<1xi64>)
    kernel.call @unsigned ins(%x, %u : memref<5xf32>, memref<40xui8>) outs(%y : memref<40xf32>) status(%b : memref<1xi64>)
    kernel.call @rows ins(%x, %i : memref<5xf32>, memref<40xi32>) outs(%y : memref<40xf32>) status(%c : memref<1xi64>)
    kernel.call @fail outs(%y : memref<40xf32>) status(%d : memref<1xi64>)
    func.return
  }
  graph.kernel @rows(%x: tensor<5xf32>, %i: tensor<40xi32>) -> tensor<40xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.gather %x, %i {axis = 0 : i64} : (tensor<5xf32>, tensor<40xi32>) -> tensor<40xf32>
    graph.yield %r : tensor<40xf32>
  }
  graph.kernel @fail() -> tensor<40xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.fail {message = "it can't be"} : tensor<40xf32>
    graph.yield %r : tensor<40xf32>
  }
  graph.kernel @unsigned(%x: tensor<5xf32>, %i: tensor<40xui8>) -> tensor<40xf32> attributes {schedule = #kernel.schedule<"elements">, interface = #kernel.interface<>} {
    %r = graph.gather %x, %i {axis = 0 : i64} : (tensor<5xf32>, tensor<40xui8>) -> tensor<40xf32>
    graph.yield %r : tensor<40xf32>
  }
}
