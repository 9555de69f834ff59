"""Streams of rows: layers that are run a band of rows at a time."""
