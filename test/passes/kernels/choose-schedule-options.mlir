// RUN: not mini-opt %s -p 'choose-schedule{forbid=magic}' 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not mini-opt %s -p 'choose-schedule{pick="k:direct"}' 2>&1 | filecheck %s --check-prefix=OLD
// RUN: not mini-opt %s -p 'choose-schedule{pick="k"}' 2>&1 | filecheck %s --check-prefix=NO-COLON
// RUN: not mini-opt %s -p 'choose-schedule{pick="j:elements"}' 2>&1 | filecheck %s --check-prefix=NO-KERNEL
// RUN: not mini-opt %s -p 'choose-schedule{pick="k:panels"}' 2>&1 | filecheck %s --check-prefix=OTHER

// UNKNOWN: choose-schedule: there is no schedule 'magic'; there are attention, attention_blocks, bands, block_dots, blocked_panels, computed_panels, depthwise, dequantised_panels, elements
// OLD: choose-schedule: there is no schedule 'direct'; there are attention, attention_blocks, bands, block_dots, blocked_panels, computed_panels, depthwise, dequantised_panels, elements
// NO-COLON: choose-schedule: pick=k: expected KERNEL:SCHEDULE
// NO-KERNEL: choose-schedule: pick=j:elements: there is no kernel @j
// OTHER: graph.kernel @k: no allowed schedule supports this map; those that would: elements
func.func @main() {
  func.return
}
graph.kernel @k(%x: tensor<4xf32>) -> tensor<4xf32> attributes {form = #kernel.form<"map">} {
  %y = graph.relu %x : tensor<4xf32>
  graph.yield %y : tensor<4xf32>
}
