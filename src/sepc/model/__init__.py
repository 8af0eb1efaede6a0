"""A fitted partition as arrays, and all that is computed from it."""
