"""Counterfactuals (recourse): what would have to change for a row to be accepted with a given label."""
