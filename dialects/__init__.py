"""What exists in the IR: `graph` says what is computed, `kernel` how host code and kernels meet."""
