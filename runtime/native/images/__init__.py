"""Machine code as one block that is linked when it is made, so that loading it needs no compiler and no linker."""
