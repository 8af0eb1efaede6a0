"""The estimators: one folder each, and beside them what they share."""
