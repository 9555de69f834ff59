"""Single layers timed beside other engines."""
