"""The estimators: what they share here, and one folder for each."""
