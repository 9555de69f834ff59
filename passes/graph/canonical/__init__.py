"""The patterns of canonicalize-graph, by the kind of op they rewrite."""
