"""Audits: where a model fails, according to labels that arrived later."""
