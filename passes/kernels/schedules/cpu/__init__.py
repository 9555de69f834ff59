"""Schedules: one file per code family, which says what a kernel's code needs before there is any code.

Each has `schedule(kernel, target) -> (ScheduleAttr, InterfaceAttr)`; the file of the same name in
lowering/kernels_to_loops/families/ carries the schedule out.
"""
