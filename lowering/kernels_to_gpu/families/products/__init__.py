"""GPU code of matrix products and convolutions as products: operands, shared-memory tiles, epilogues."""
