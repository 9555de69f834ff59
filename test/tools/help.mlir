// Help lists every pass with what it does, ours and those that xDSL brings.
// RUN: mini-opt --help | filecheck %s

// CHECK: usage: mini-opt
// CHECK: passes:
// CHECK: {{^}}  fold-constants {{.+}}
// CHECK: {{^}}  bufferize {{.+}}
// CHECK: {{^}}  cse {{.+}}
