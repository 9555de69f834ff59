"""Faults sown into GPU code on purpose: how many of them each emulation finds. `make faults` prints a table."""
