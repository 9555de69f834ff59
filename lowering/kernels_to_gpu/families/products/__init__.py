"""What the code of products on a GPU has in common: operands, their tiles in shared memory, what follows the sums."""
