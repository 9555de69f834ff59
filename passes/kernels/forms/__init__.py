"""Forms: what the body of a kernel computes, read from its ops."""
