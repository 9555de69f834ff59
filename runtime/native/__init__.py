"""Machine code: LLVM and the processes it runs in, images of objects, the team of threads."""
