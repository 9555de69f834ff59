"""Schedules of matrix products and convolutions as loop nests around register tiles."""
