"""Erasure: a model without some of its training rows, and a receipt that others can verify."""
