"""A data set before any model: where its classes lie and overlap, and which rows a partition cannot separate."""
