// RUN: mini-opt %s --split-input-file --verify-diagnostics | filecheck %s

// A block may be labelled by a number.
// CHECK:      cf.br ^bb1
// CHECK-NEXT: ^bb1:
func.func @label() {
  "cf.br"()[^0] : () -> ()
^0:
  func.return
}

// -----

// What an op reads must have been made before it, by another op.
func.func @later() -> i64 {
  // expected-error @below {{arith.addi: %b is read before it is defined}}
  %a = arith.addi %b, %b : i64
  %b = arith.constant 1 : i64
  func.return %a : i64
}

// -----

func.func @itself(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{graph.erf: %y is read before it is defined}}
  %y = graph.erf %y : tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// Within its own regions too, and from the regions of an op before it.
func.func @inside(%c: i1) -> i64 {
  %a = scf.if %c -> (i64) {
    // expected-error @below {{scf.yield: %b is read before it is defined}}
    scf.yield %b : i64
  } else {
    %d = arith.constant 1 : i64
    scf.yield %d : i64
  }
  %b = arith.constant 1 : i64
  func.return %a : i64
}

// -----

// A graph of blocks may go backwards; only the order in a block is looked at.
// CHECK: func.func @blocks
func.func @blocks() -> i64 {
  cf.br ^made
^read:
  func.return %a : i64
^made:
  %a = arith.constant 1 : i64
  cf.br ^read
}

// -----

// What the parser says in an exception of Python's own has a place too: what was to be read next.
func.func @large() -> tensor<1xf16> {
  %a = arith.constant dense<[1.0e40]> : tensor<1xf16>
  // expected-error @below {{float too large to pack}}
  func.return %a : tensor<1xf16>
}

// -----

// Nor from a region that is not around the op.
func.func @outside(%n: index, %x: i64) -> i64 {
  %c0 = arith.constant 0 : index
  // expected-error @below {{scf.for: it reads a value of a region that does not enclose it}}
  %a = scf.for %i = %c0 to %n step %n iter_args(%s = %r) -> (i64) {
    %r = arith.addi %x, %s : i64
    scf.yield %r : i64
  }
  func.return %a : i64
}
