"""Parts of the suite `comparison`."""
