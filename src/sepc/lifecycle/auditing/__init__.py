"""Audits: where a model fails, by labels that came later."""
