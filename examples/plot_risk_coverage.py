"""
Risk-coverage and reliability curves
====================================

The risk-coverage curve accepts the most trusted rows first, and shows how many of those accepted are wrong. If trust
ranks errors well, the curve stays near zero for long. The marks are at each classifier's own threshold.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sepc import SEPClassifier
from sepc.plot import ReliabilityDisplay, RiskCoverageDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

weighed = SEPClassifier().fit(X_train, y_train)
counted = SEPClassifier(trust="counts").fit(X_train, y_train)
logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, estimator in (("weights", weighed), ("counts", counted), ("logistic regression", logistic)):
    RiskCoverageDisplay.from_estimator(estimator, X_test, y_test, name=name, ax=ax)
plt.show()

# %%
# Good ranking is not the same as good calibration. Are labels with a trust of 90 % right nine times in ten? Below the
# diagonal, labels are trusted too much; the bars are intervals. The strip above shows how many rows are in each bin.

fig, ax = plt.subplots(figsize=(7, 5.5), layout="constrained")
for name, estimator in (("weights", weighed), ("counts", counted)):
    ReliabilityDisplay.from_estimator(estimator, X_test, y_test, n_bins=6, name=name, ax=ax)
plt.show()
