"""What all Python tests share."""

from hypothesis import settings

# Examples are the same in every run, and a slow machine is no failure.
settings.register_profile("mini_infer", derandomize=True, deadline=None)
settings.load_profile("mini_infer")
