"""The command-line programs: mini_opt/ (one IR in, one IR out) and mini_infer.py (models), its verbs in commands/."""
