"""Kernels that call functions which users have compiled."""
