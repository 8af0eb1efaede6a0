"""Columns that differ from training: which moved, by how much, and what probably happened to them."""
