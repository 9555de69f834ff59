// The location of an scf.while stands behind its regions, where it is read back.
// RUN: mini-opt %s | mini-opt | filecheck %s

// CHECK: %{{.*}} = scf.while (%{{.*}} = %on) : (i1) -> i1 {
// CHECK: } do {
// CHECK: } loc("the_loop")
func.func @main(%x: memref<4xf32> {graph.role = "input"}, %on: i1) {
  %last = scf.while (%go = %on) : (i1) -> i1 {
    scf.condition(%go) %go : i1
  } do {
  ^bb0(%before: i1):
    scf.yield %before : i1
  } loc("the_loop")
  func.return
}
