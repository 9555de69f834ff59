"""Schedules of what is selected: the largest elements, boxes."""
