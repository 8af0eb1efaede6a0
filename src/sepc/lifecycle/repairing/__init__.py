"""Repairs: models of their own for regions that fail."""
