"""The CPU as a device: its sessions, and its measured limits."""
