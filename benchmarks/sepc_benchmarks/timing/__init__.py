"""Parts of the suite `speed`."""
