"""Statistical tests, bounds and splits on plain arrays."""
