"""Schedules: how a kernel of a form may be carried out, one folder per device."""
