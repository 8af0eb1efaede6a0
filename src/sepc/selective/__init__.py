"""Selective classification: models that stand on the classifier and say which of their labels to use."""
