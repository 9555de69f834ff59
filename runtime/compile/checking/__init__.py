"""Checks of the memory plan while a model runs: poisoned memory, and what each call writes."""
