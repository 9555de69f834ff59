"""The patterns of canonicalize-graph, one file for each kind of op that they rewrite."""
