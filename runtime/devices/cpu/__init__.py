"""The CPU as a device: what it is and reaches, and the CPUs that code is made for."""
