"""Columns whose values are not as in training: which moved, by how much, and what probably happened to them."""
