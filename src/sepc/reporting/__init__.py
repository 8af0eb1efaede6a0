"""Views of a fitted model for people: a report for a terminal or a browser, and a model card."""
