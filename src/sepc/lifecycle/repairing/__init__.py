"""Repairs: new models for regions that fail."""
