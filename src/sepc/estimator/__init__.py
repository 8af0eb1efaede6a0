"""The scikit-learn shell."""
