"""What the graph passes share: patterns, layouts, chains of products, masks of attention."""
