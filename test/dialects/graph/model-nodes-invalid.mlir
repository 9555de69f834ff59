// RUN: not mini-opt %s 2>&1 | filecheck %s

// CHECK: a tensor's fate is one of '', 'constant', 'unused', and not 'gone'
module attributes {graph.model = #graph.model_nodes<["a", "Relu", ["x"], [["y", [1], 4, "gone", ""]]]>} {
}
