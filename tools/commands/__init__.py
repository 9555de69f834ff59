"""The verbs of mini-infer, a file for each: its options, and which of them go together. The work is imported late."""
