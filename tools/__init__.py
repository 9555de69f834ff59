"""The command-line programs: mini-opt (one IR in, one IR out) and mini-infer (models)."""
