"""Handlers that translate nodes to graph ops, one file for each family of operators; ../operators.py has the table."""
