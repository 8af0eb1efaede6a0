"""The paper's algorithms: separate two classes, carve pure pieces, remove them, repeat."""
