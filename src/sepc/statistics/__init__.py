"""Tests, bounds and splits on plain arrays, which know nothing of models."""
