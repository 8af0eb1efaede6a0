"""The algorithms of the paper: separate two classes, carve out pure pieces, remove them, repeat."""
