"""CPU code of elementwise kernels, data movement, pools and selections."""
