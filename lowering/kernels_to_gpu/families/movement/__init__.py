"""GPU code of elementwise kernels, data movement and scatters."""
