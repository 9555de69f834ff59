"""Machine code: LLVM and its worker processes, linked images, the thread team."""
