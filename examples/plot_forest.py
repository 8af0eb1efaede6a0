"""
From one partition to a forest: what many features do to ellipsoids
===================================================================

A new row lies outside an ellipsoid more often the more features there are: up to ``d (d + 3) / 2`` rows are needed to
fix an ellipsoid in ``d`` features, and every one of them is at its rim. So one partition of thirty features sees most
new rows outside, where it can say little. The forest cuts in a few features at a time, many times.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sepc import SEPClassifier, SEPForestClassifier
from sepc.metrics import aurc, risk_coverage_curve
from sepc.regions.kinds import Rule

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)

# %%
# Outside, by the number of features

numbers = (2, 5, 10, 15, 20, 25, 30)
outside = []
for d in numbers:
    decisions = SEPClassifier().fit(X_train[:, :d], y_train).decide(X_test[:, :d])
    outside.append(np.mean(decisions.rule == Rule.NEAREST))
    print(f"{d:>2} features: {outside[-1]:.0%} of the test rows lie outside every ellipsoid")

# %%
# One partition and a forest, on all thirty

one = SEPClassifier().fit(X_train, y_train).decide(X_test)
forest = SEPForestClassifier(30, random_state=0).fit(X_train, y_train).decide(X_test)

fig, (left, right) = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
left.plot(numbers, 100 * np.array(outside), "o-", color="#0072B2", linewidth=2)
left.set(xlabel="features", ylabel="test rows outside, %", ylim=(0, 100), title="One partition, more and more features")
for name, decisions, color, line in (("one partition", one, "#D55E00", "--"), ("forest", forest, "#0072B2", "-")):
    correct = decisions.label == y_test
    coverage, risk = risk_coverage_curve(correct, decisions.trust)
    right.plot(100 * coverage, 100 * risk, line, color=color, linewidth=2, label=name)
    print(f"{name:<14}accuracy {correct.mean():.3f}, AURC {aurc(correct, decisions.trust):.4f}")
right.set(xlabel="accepted, % of the rows", ylabel="wrong among accepted, %", title="Thirty features")
right.legend(frameon=False)
plt.show()
