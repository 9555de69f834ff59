"""What the ways to write attention for a GPU have in common."""
