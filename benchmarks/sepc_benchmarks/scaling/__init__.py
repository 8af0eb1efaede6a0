"""Parts of the benchmark of the same name."""
