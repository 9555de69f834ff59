"""What is made element by element, or moved."""
