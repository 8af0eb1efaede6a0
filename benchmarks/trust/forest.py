"""The SEP forest, which is compared one last time: it goes with this file and the lines that name `FOREST`."""

from sepc import SEPForestClassifier

FOREST = {"SEP forest": SEPForestClassifier(random_state=0)}
