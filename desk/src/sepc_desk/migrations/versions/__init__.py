"""The versions of the schema, in order."""
