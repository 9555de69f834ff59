"""Helpers shared by the graph passes: patterns, layouts, chains of products, attention masks."""
