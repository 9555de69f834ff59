"""Matrix products, and convolutions as such: panels of packed weights, register tiles."""
