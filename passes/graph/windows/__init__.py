"""Passes on ops that read windows: convolutions and pools."""
