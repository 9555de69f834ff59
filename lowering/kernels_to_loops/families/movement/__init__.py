"""What is made element by element, or moved: maps, pools, selections."""
