"""Code of decision trees."""
