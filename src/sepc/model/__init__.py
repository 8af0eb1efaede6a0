"""A fitted partition as arrays, and everything computed from it."""
