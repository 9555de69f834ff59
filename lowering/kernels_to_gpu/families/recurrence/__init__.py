"""What the ways to write recurrent networks for a GPU have in common."""
