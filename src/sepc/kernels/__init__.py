"""Convex solvers: point sets in, shapes and certificates out."""
