"""A data set before any model: where its classes lie, where they overlap, and what a partition cannot separate."""
