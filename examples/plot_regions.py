"""
Right and wrong labels by region
================================

A region is a set of ellipsoids that a row lies in, or, for rows outside, what is nearest. For each region, the bars
show how many test rows got a right and a wrong label, the diamonds how far these labels were trusted, as in the charts
of the paper. Look for hatched bars beside a high trust.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier
from sepc.plot import TrustDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, y = X[["mean texture", "worst area", "worst smoothness"]], y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

classifier = SEPClassifier().fit(X_train, y_train)
display = TrustDisplay.from_estimator(classifier, X_test, y_test)
plt.show()

# %%
# The display has the numbers behind the picture.

for name, right, wrong, trust in zip(
    display.outcomes.names, display.outcomes.right, display.outcomes.wrong, display.outcomes.trust, strict=True
):
    print(f"{name:<32} {right:4d} right {wrong:4d} wrong, trust {trust:.3f}")
