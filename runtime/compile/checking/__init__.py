"""Run-time checks of the memory plan: poisoned memory, and the writes of each call."""
