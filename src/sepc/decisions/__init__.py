"""What `decide` returns: one class of decisions, with the same columns and methods for every estimator."""
