"""The IR: `graph` ops on tensors, `kernel` calls on buffers, `gpu` code, and symbolic `sizes`."""
