// Each thing that a user can get wrong is one line, before anything is printed.
// RUN: not mini-opt %s -p foldconstants 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not mini-opt %s -p 'cse{limit=3}' 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not mini-opt %s -p 'cse{' 2>&1 | filecheck %s --check-prefix=TEXT
// RUN: not mini-opt %s -p cse --to llvm 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not mini-opt %s --to nowhere 2>&1 | filecheck %s --check-prefix=LEVEL
// RUN: not mini-opt %s --to llvm 2>&1 | filecheck %s --check-prefix=MAIN
// RUN: not mini-opt %s --dim n=0 2>&1 | filecheck %s --check-prefix=DIM
// RUN: not mini-opt %s --dim n=4 --dim n=5 2>&1 | filecheck %s --check-prefix=TWICE
// RUN: not mini-opt %s --shape x=1,,3 2>&1 | filecheck %s --check-prefix=SHAPE
// RUN: not mini-opt %s --dim n=4 2>&1 | filecheck %s --check-prefix=NODIM
// RUN: not mini-opt %s --shape x=4 2>&1 | filecheck %s --check-prefix=NODIM
// RUN: not mini-opt %s -f onnx --split-input-file 2>&1 | filecheck %s --check-prefix=SPLIT
// RUN: not mini-opt %s -p cse --verify-each --disable-verify 2>&1 | filecheck %s --check-prefix=VERIFY
// RUN: not mini-opt %s -t llvm-ir --elide-weights 2>&1 | filecheck %s --check-prefix=ELIDE
// RUN: not mini-opt %s -p cse --print-ir-after=csee 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not mini-opt %s -p cse,dce --print-ir-before=cse,licm 2>&1 | filecheck %s --check-prefix=ABSENT
// RUN: not mini-opt %s --time-passes 2>&1 | filecheck %s --check-prefix=TIMES
// RUN: not mini-opt %s --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: not mini-opt %s -p cse --explain 2>&1 | filecheck %s --check-prefix=EXPLAIN
// RUN: not mini-opt %s --host --cpu x86-64-v3 2>&1 | filecheck %s --check-prefix=HOST
// RUN: not mini-opt %s -f onnx --allow-unregistered-dialect 2>&1 | filecheck %s --check-prefix=DIALECT
// RUN: not mini-opt %s --pas cse 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not mini-opt %S/nothing.mlir 2>&1 | filecheck %s --check-prefix=MISSING
// RUN: not mini-opt %S/errors.txt 2>&1 | filecheck %s --check-prefix=SUFFIX
// RUN: not mini-opt %s -o %S/nowhere/out.mlir 2>&1 | filecheck %s --check-prefix=FOLDER

// UNKNOWN: mini-opt: error: there is no pass 'foldconstants'; is 'fold-constants' meant?
// OPTION:  mini-opt: error: pass 'cse' has no option 'limit' (it has: none)
// TEXT:    mini-opt: error: the pass pipeline can't be parsed
// BOTH:    mini-opt: error: -p/--pass-pipeline and --to exclude each other
// LEVEL:   mini-opt: error: Invalid value for '--to': 'nowhere' is not one of 'graph', 'kernels', 'buffers', 'arena', 'loops', 'llvm', 'launches'.
// MAIN:    mini-opt: error: the module has no function @main
// DIM:     mini-opt: error: --dim n=0: expected NAME=SIZE with a size of at least 1
// TWICE:   mini-opt: error: --dim n=5: 'n' is given twice
// SHAPE:   mini-opt: error: --shape x=1,,3: expected NAME=SIZE,SIZE,... with sizes of at least 1
// NODIM:   mini-opt: error: --dim, --range, --shape, --specialize and --cache are for ONNX models; the inputs of a module are fixed
// FLAG:    mini-opt: error: No such option: --pas
// SPLIT:   mini-opt: error: --split-input-file and --verify-diagnostics are for text
// VERIFY:  mini-opt: error: --verify-each and --disable-verify exclude each other
// ELIDE:   mini-opt: error: --print-op-generic and --elide-weights are for modules, not for -t llvm-ir
// PASS:    mini-opt: error: there is no pass 'csee'; is 'cse' meant?
// ABSENT:  mini-opt: error: --print-ir-before=licm: that is none of the passes to run: cse, dce
// TIMES:   mini-opt: error: --time-passes does nothing: there is no pass to run
// DUMP:    mini-opt: error: --dump-pass-pipeline does nothing: there is no pass to run
// EXPLAIN: mini-opt: error: --explain does nothing: choose-schedule is none of the passes to run
// HOST:    mini-opt: error: --host and --cpu exclude each other
// DIALECT: mini-opt: error: --allow-unregistered-dialect is for text
// MISSING: mini-opt: error: {{.*}}nothing.mlir: No such file or directory
// SUFFIX:  mini-opt: error: {{.*}}errors.txt is neither .mlir nor .onnx
// FOLDER:  mini-opt: error: {{.*}}out.mlir: can't be written: No such file or directory
func.func @identity(%a: i32) -> i32 {
  func.return %a : i32
}
