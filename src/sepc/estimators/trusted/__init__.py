"""`TrustedClassifier`, its decisions and what of it goes into a file."""
