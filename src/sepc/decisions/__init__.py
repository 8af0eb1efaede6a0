"""What every estimator's `decide` gives: one class of decisions, with the same columns and methods everywhere."""
