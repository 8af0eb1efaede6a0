"""
Trust for a model you have
==========================

``TrustedClassifier`` keeps the labels of any classifier and gives them a trust of its own, from a partition into
ellipsoids fitted beside it. Which ranks errors better: the model's own confidence, or this trust? Rows are
accepted in the order of each; the curve is the selective risk, the error rate among accepted rows. Lower is better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sepc import TrustedClassifier
from sepc.metrics import aurc, risk_coverage_curve

X, y = load_breast_cancer(return_X_y=True)
models = {
    "a small tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
}


def judge(model):
    """Of rows left out in three folds: whether the label is right, the model's confidence, and trust."""
    parts = []
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(X, y):
        trusted = TrustedClassifier(model, cv=3)
        decisions = trusted.fit(X[train], y[train]).decide(X[test])
        parts.append((decisions.label == y[test], trusted.predict_proba(X[test]).max(axis=1), decisions.trust))
    return [np.concatenate(part) for part in zip(*parts, strict=True)]


fig, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    correct, confidence, trust = judge(model)
    for title, score, color, line in (
        ("its own confidence", confidence, "#D55E00", "--"),
        ("trust", trust, "#0072B2", "-"),
    ):
        coverage, risk = risk_coverage_curve(correct, score)
        ax.plot(100 * coverage, 100 * risk, line, color=color, linewidth=2, label=title)
        print(f"{name:<22}{title:<22}AURC {aurc(correct, score):.4f}")
    ax.set(title=f"{name.capitalize()}: {100 * np.mean(~correct):.1f} % wrong", xlabel="accepted, % of the rows")
axes[0].set_ylabel("wrong among accepted, %")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# A tree's confidence takes a handful of values, one for each leaf, so it can hardly rank rows, and trust finds most of
# the errors. Logistic regression fits this data set so well that its own confidence ranks errors better: there is
# nothing to gain. The comparison in the explanation part has 27 data sets, losses included.
#
# Reasons come with it
# --------------------

trusted = TrustedClassifier(models["a small tree"], cv=3)
decisions = trusted.fit(X[::2], y[::2]).decide(X[1::2])
print(decisions[int(decisions.trust.argmin())].why())
