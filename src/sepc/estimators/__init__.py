"""The estimators, one folder each, and what they share."""
