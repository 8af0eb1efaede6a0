"""Geometry: ellipsoids, half-spaces, distances and overlap."""
