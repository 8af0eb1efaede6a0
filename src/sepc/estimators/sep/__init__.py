"""`SEPClassifier`, its decisions and its model file."""
