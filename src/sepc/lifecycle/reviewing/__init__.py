"""Reviews: which rows people look at, and what their labels prove."""
