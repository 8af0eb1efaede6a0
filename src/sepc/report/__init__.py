"""Views of a fitted model for people."""
