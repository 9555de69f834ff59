"""Passes for language models: the next token, its last row, and their caches."""
