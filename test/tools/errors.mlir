// Each thing that a user can get wrong is one line, before anything is printed.
// RUN: not mini-opt %s -p foldconstants 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not mini-opt %s -p 'cse{limit=3}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not mini-opt %s -p 'cse{' 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not mini-opt %s -p cse --to llvm 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not mini-opt %s --to nowhere 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not mini-opt %s --to llvm 2>&1 | filecheck %s --check-prefix=MAIN
// RUN: not mini-opt %s --dim n=0 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not mini-opt %s --dim n=4 2>&1 | filecheck %s --check-prefix=NODIM
// RUN: not mini-opt %s --pas cse 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not mini-opt %S/nothing.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not mini-opt %S/errors.txt 2>&1 | filecheck %s --check-prefix=SUFFIX
// RUN: not mini-opt %s -o %S/nowhere/out.mlir 2>&1 | filecheck %s --check-prefix=FOLDER

// UNKNOWN: mini-opt: error: there is no pass 'foldconstants'; is 'fold-constants' meant?
// OPTION:  mini-opt: error: pass 'cse' has no option 'limit' (it has: none)
// TEXT:    mini-opt: error: the pass pipeline can't be read
// BOTH:    mini-opt: error: -p/--pass-pipeline and --to exclude each other
// LEVEL:   mini-opt: error: argument --to: invalid choice: 'nowhere'
// MAIN:    mini-opt: error: the module has no function @main
// DIM:     mini-opt: error: argument --dim: 'n=0' is not NAME=N with a positive number
// NODIM:   mini-opt: error: --dim is for ONNX models
// FLAG:    mini-opt: error: unrecognized arguments: --pas
// MISSING: mini-opt: error: {{.*}}nothing.mlir: No such file or directory
// SUFFIX:  mini-opt: error: {{.*}}errors.txt is neither .mlir nor .onnx
// FOLDER:  mini-opt: error: can't write {{.*}}out.mlir: No such file or directory
func.func @identity(%a: i32) -> i32 {
  func.return %a : i32
}
