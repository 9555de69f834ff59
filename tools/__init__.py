"""The command-line programs: mini_opt/ (IR to IR) and mini_infer.py (models), with one file per verb in commands/."""
