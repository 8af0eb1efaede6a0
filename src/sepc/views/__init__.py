"""The numbers that pictures and reports show, as plain data."""
