"""Profiles: times of kernel calls, traces of runs, and names of machine code for perf."""
