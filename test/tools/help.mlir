// Help lists every pass with what it does, ours and those that xDSL brings.
// RUN: mini-opt --help | filecheck %s
// RUN: mini-opt -h | filecheck %s
// RUN: mini-opt --list-passes | filecheck %s --check-prefix=LIST

// CHECK: Usage: mini-opt
// CHECK: passes at the graph level:
// CHECK: {{^}}  fold-constants {{.+}}
// CHECK: passes at the kernels level:
// CHECK: {{^}}  bufferize {{.+}}
// CHECK: passes at any level:
// CHECK: {{^}}  cse {{.+}}

// LIST:      {{^}}passes at the graph level:
// LIST-NEXT: {{^}}  infer-shapes {{.+}}
