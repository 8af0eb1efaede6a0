"""Data as point sets, and the reductions that summarise them."""
