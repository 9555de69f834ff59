// RUN: not mini-opt %s -p form-kernels 2>&1 | filecheck %s

// CHECK: form-kernels: the module has no function @main
func.func @other() {
  func.return
}
