"""`StratifiedClassifier`, its decisions and its model file."""
