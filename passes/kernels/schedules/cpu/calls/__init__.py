"""Schedules of functions that users have compiled."""
