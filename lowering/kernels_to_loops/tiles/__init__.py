"""Register tiles: sums held in registers over a whole inner sum, and what is done to them before they are stored."""
