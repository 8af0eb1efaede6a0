"""`RepairedClassifier`, its decisions and its model file."""
