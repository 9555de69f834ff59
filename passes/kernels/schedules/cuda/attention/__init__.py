"""Schedules of attention."""
