"""What would have to change for a row to get a label that the model accepts."""
