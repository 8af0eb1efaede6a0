"""
Feature curves
==============

The label of a row is the one with the largest sum of terms: one for each feature, read off its shape function, and one
for each ellipsoid. The picture shows the curves of the six features that count most, in their own units. Values above
zero favour "malignant", values below "benign"; the strip at the foot shows where rows lie. A term of 0.7 doubles the
odds.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier
from sepc.plot import WeightsDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)

classifier = SEPClassifier().fit(X_train, y_train)
WeightsDisplay.from_estimator(classifier, X_test)
plt.show()

# %%
# Choose any other feature. Without rows, the ticks are quantiles of the training rows.

WeightsDisplay.from_estimator(classifier, features=["worst concavity", "mean area"], label="benign")
plt.show()

# %%
# The same terms, for one row: what counts most for its label, or against it. All of them and the offset add up to the
# log-odds of the label against the runner-up.

decisions = classifier.decide(X_test)
doubtful = decisions[int(decisions.trust.argmin())]
terms = doubtful.terms()
print(f"{doubtful.label} against {terms.runner_up}: log-odds {terms.log_odds:+.2f}, trust {doubtful.trust:.2f}")
for name, value in terms.largest(5):
    print(f"  {name:<26}{value:+.2f}")

# %%
# Rows for which the counts of training rows give a different label from the weights are worth a look.

differ = decisions.label != decisions.counts_label
print(f"{differ.sum()} of {len(differ)} rows, {decisions.accepted[differ].sum()} of them accepted:")
print(f"weights right on {(decisions.label == y_test)[differ].sum()}", end=", ")
print(f"counts on {(decisions.counts_label == y_test)[differ].sum()}")
