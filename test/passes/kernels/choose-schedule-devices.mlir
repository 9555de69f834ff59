// RUN: not mini-opt %s -p choose-schedule 2>&1 | filecheck %s
// RUN: not mini-opt %s --to loops 2>&1 | filecheck %s --check-prefix PATH

// CHECK: mini-opt: error: the module is for #kernel.gpu<"sm_80", {{.*}}>; there are passes for CPUs only
// PATH: mini-opt: error: the module is for #kernel.gpu<"sm_80", {{.*}}>; there are passes for cpu only
builtin.module attributes {kernel.target = #kernel.gpu<"sm_80">} {
  func.func @main() {
    func.return
  }
}
