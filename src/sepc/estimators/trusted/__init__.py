"""`TrustedClassifier`, its decisions and its model file."""
