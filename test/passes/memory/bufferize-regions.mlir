// RUN: mini-opt %s -p bufferize --split-input-file | filecheck %s

graph.kernel @relu(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.relu %a : tensor<4xf32>
  graph.yield %r : tensor<4xf32>
}

// What the loop carries lies in one buffer, here the output. %t is made there, as nobody reads %s any more; the number
// of turns is read from the buffer of %n.
// CHECK-LABEL: func.func @main(%x: {{.*}}, %n: {{.*}}, %s: {{.*}}graph.role = "output"
// CHECK:         %[[N:.*]] = memref.load %n[] : memref<i64>
// CHECK:         %[[LAST:.*]] = arith.index_cast %[[N]]
// CHECK:         kernel.call @copy_0 ins(%x {{.*}}outs(%s
// CHECK-NEXT:    scf.for {{.*}} to %[[LAST]] step
// CHECK-NEXT:      %[[U:.*]] = memref.alloc
// CHECK-NEXT:      kernel.call @relu ins(%s {{.*}}outs(%[[U]]
// CHECK-NEXT:      kernel.call @relu ins(%[[U]] {{.*}}outs(%s
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @main(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %number = tensor.extract %n[] : tensor<i64>
  %last = arith.index_cast %number : i64 to index
  %y = scf.for %i = %c0 to %last step %c1 iter_args(%s = %x) -> (tensor<4xf32>) {
    %u = graph.call @relu(%s) : (tensor<4xf32>) -> tensor<4xf32>
    %t = graph.call @relu(%u) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %t : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

graph.kernel @relu(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.relu %a : tensor<4xf32>
  graph.yield %r : tensor<4xf32>
}

// Values that are swapped need a third buffer.
// CHECK-LABEL: func.func @main(%x: {{.*}}, %y: {{.*}}, %s: {{.*}}, %t: {{.*}}graph.role = "output"
// CHECK:         kernel.call @copy_0 ins(%x {{.*}}outs(%s
// CHECK-NEXT:    kernel.call @copy_0 ins(%y {{.*}}outs(%t
// CHECK-NEXT:    scf.for
// CHECK-NEXT:      %[[SAFE:.*]] = memref.alloc
// CHECK-NEXT:      kernel.call @copy_0 ins(%t {{.*}}outs(%[[SAFE]]
// CHECK-NEXT:      kernel.call @copy_0 ins(%s {{.*}}outs(%t
// CHECK-NEXT:      kernel.call @copy_0 ins(%[[SAFE]] {{.*}}outs(%s
// CHECK-NEXT:    }
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a, %b = scf.for %i = %c0 to %c1 step %c1 iter_args(%s = %x, %t = %y) -> (tensor<4xf32>, tensor<4xf32>) {
    scf.yield %t, %s : tensor<4xf32>, tensor<4xf32>
  }
  func.return %a, %b : tensor<4xf32>, tensor<4xf32>
}

// -----

graph.kernel @relu(%a: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.relu %a : tensor<4xf32>
  graph.yield %r : tensor<4xf32>
}

// Both sides of a branch write one buffer; a value from outside is copied there.
// CHECK-LABEL: func.func @main(%x: {{.*}}, %p: {{.*}}, %a: {{.*}}graph.role = "output"
// CHECK:         %[[P:.*]] = memref.load %p
// CHECK-NEXT:    scf.if %[[P]] {
// CHECK-NEXT:      kernel.call @relu ins(%x {{.*}}outs(%a
// CHECK-NEXT:    } else {
// CHECK-NEXT:      kernel.call @copy_0 ins(%x {{.*}}outs(%a
// CHECK-NEXT:    }
func.func @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
  %q = tensor.extract %p[] : tensor<i1>
  %y = scf.if %q -> (tensor<4xf32>) {
    %a = graph.call @relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
    scf.yield %a : tensor<4xf32>
  } else {
    scf.yield %x : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}

// -----

graph.kernel @relu(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>) {
  %r = graph.relu %a : tensor<4xf32>
  %n = graph.constant dense<true> : tensor<i1>
  graph.yield %r, %n : tensor<4xf32>, tensor<i1>
}

// A loop that may end early carries its values in buffers too; only whether it goes on is handed from turn to turn.
// CHECK-LABEL: func.func @main(%x: {{.*}}, %go: {{.*}}, %s: {{.*}}graph.role = "output"
// CHECK:         %[[FIRST:.*]] = memref.load %go[] : memref<i1>
// CHECK:         kernel.call @copy_0 ins(%x {{.*}}outs(%s
// CHECK-NEXT:    scf.while (%[[ON:.*]] = %[[FIRST]]) : (i1) -> i1 {
// CHECK-NEXT:      scf.condition(%[[ON]]) %[[ON]] : i1
// CHECK-NEXT:    } do {
// CHECK:           kernel.call @relu ins(%s {{.*}}outs(%[[U:.*]], %[[MORE:.*]] : memref<4xf32>
// CHECK-NEXT:      %[[NEXT:.*]] = memref.load %[[MORE]][] : memref<i1>
// CHECK-NEXT:      kernel.call @copy_0 ins(%[[U]] {{.*}}outs(%s
// CHECK-NEXT:      scf.yield %[[NEXT]] : i1
func.func @main(%x: tensor<4xf32>, %go: tensor<i1>) -> tensor<4xf32> {
  %first = tensor.extract %go[] : tensor<i1>
  %last, %y = scf.while (%on = %first, %s = %x) : (i1, tensor<4xf32>) -> (i1, tensor<4xf32>) {
    scf.condition(%on) %on, %s : i1, tensor<4xf32>
  } do {
  ^bb0(%on: i1, %s: tensor<4xf32>):
    %t, %more = graph.call @relu(%s) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<i1>)
    %next = tensor.extract %more[] : tensor<i1>
    scf.yield %next, %t : i1, tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
