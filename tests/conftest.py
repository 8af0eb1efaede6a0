"""Settings that all tests share."""

from hypothesis import settings

# The same examples on every run and machine, and no time limit that a busy machine could break.
settings.register_profile("sepc", derandomize=True, deadline=None)
settings.load_profile("sepc")
