"""Outputs compared with references, and the search for the first node or kernel that differs."""
