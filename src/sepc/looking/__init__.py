"""What stands out in a table before a model is fitted to it."""
