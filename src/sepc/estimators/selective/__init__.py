"""`SelectiveClassifier`, its decisions and its model file."""
