"""Schedules of what is selected or sorted: the largest elements, boxes, updates of a scatter."""
