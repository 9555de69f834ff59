"""Schedules of decision trees."""
