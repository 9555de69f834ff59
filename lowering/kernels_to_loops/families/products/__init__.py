"""CPU code of matrix products and convolutions as products: packed panels and register tiles."""
