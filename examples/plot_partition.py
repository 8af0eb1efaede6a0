"""
A partition in two features and in thirty
=========================================

With two features you can see everything: the ellipses, numbered in the order they were found, and, in the background,
the predicted label. Its colour is strong where the label is accepted, and fades with trust.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from sepc import SEPClassifier
from sepc.plot import PartitionDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})

two = ["worst radius", "worst smoothness"]
PartitionDisplay.from_estimator(SEPClassifier().fit(X[two], y), X[two], y)
plt.show()

# %%
# With more features, any two of them show the exact projections of the ellipsoids. Projections overlap where the
# ellipsoids themselves need not. Colours are strong where rows in that ellipsoid alone are trusted by their counts.

three = ["mean texture", "worst area", "worst smoothness"]
classifier = SEPClassifier().fit(X[three], y)
PartitionDisplay.from_estimator(classifier, X[three], y, features=("worst area", "mean texture"))
plt.show()

# %% By default the picture shows the two features in which the classes are farthest apart, here of thirty. Projections
# lie on top of each other, while the ellipsoids themselves are nearly pure. That is not a good sign: thirty features
# leave room around every row. Fitted on every other row, such ellipsoids miss most of the rows between them. Labels do
# not depend on them alone: :class:`sepc.plot.WeightsDisplay` shows the shape functions of the features that also count.

classifier = SEPClassifier().fit(X, y)
PartitionDisplay.from_estimator(classifier, X, y)
plt.show()

for one in classifier.ellipsoids_:
    print(f"ellipsoid {one.number} of {one.label}: {dict(zip(classifier.classes_, one.counts.tolist(), strict=True))}")
for features in (three, list(X)):
    half = SEPClassifier().fit(X[features][::2], y[::2]).decide(X[features][1::2])
    print(f"{len(features)} features: {(half.gauge > 1).mean():.0%} of the other rows lie outside every ellipsoid")
