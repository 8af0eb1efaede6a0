"""What the columns of a table are, and how they become features."""
