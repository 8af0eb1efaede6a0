"""Compare two models: which decisions change, where, and why."""
