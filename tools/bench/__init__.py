"""Programs that measure; each prints a table."""
