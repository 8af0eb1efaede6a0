"""
Vertebral column: one class inside the other
============================================

The two overlap ratios tell the story: the ellipsoid around the rows that lie in both classes' ellipsoids fills two
thirds of the normal class's and almost nothing of the abnormal one's. All four numbers that the paper gives are met
exactly, with the features at two decimals, as its file has them.

Its accuracies, 64.2 to 92.8 % over ten folds, cannot be met exactly: how the rows were split is not said, and ten folds
of 310 rows have 31 rows each, of which no whole number is 64.2 %. Both numbers are fourteenths (9/14 and 13/14, cut off
after one decimal), so the folds seem to have had 14 or 28 rows. We show ten shuffles of stratified folds instead.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from sepc import SEPClassifier, enclose
from sepc.geometry import overlap_ratio

data = pd.read_csv(Path(os.environ["SEPC_DATA_HOME"], "vertebral_column_2c.csv"))
y = data.pop("target").to_numpy(str)
X = data.to_numpy().round(2)
ellipsoids = {label: enclose(X[y == label]).ellipsoid for label in ("Normal", "Abnormal")}
in_both = np.all([one.contains(X) for one in ellipsoids.values()], axis=0)
overlap = enclose(X[in_both]).ellipsoid

print(f"{'':<34}{'paper':>9}{'ours':>9}")
for (label, one), ratio, n_outside in zip(ellipsoids.items(), ("0.67", "0.006"), (7, 157), strict=True):
    print(f"{f'overlap ratio, {label}':<34}{ratio:>9}{overlap_ratio(overlap, one):>9.4f}")
    print(f"{f'rows outside the overlap, {label}':<34}{n_outside:>9}{np.sum(~in_both[y == label]):>9}")

models = {
    "SEP-C, as published": SEPClassifier.as_published(n_impure=2),
    "decision tree": DecisionTreeClassifier(random_state=0),
    "linear SVM": make_pipeline(StandardScaler(), SVC(kernel="linear")),
    "RBF SVM": make_pipeline(StandardScaler(), SVC()),
}
splits = [StratifiedKFold(10, shuffle=True, random_state=seed) for seed in range(10)]
scores = {name: np.array([cross_val_score(model, X, y, cv=cv) for cv in splits]) for name, model in models.items()}
default = SEPClassifier(n_impure=2)
scores["SEP-C, default (3 shuffles)"] = np.array([cross_val_score(default, X, y, cv=cv) for cv in splits[:3]])

print(f"\n{'ten-fold accuracy, %':<34}{'lowest':>9}{'highest':>9}{'mean':>9}   mean range in one shuffle")
print(f"{'paper, SEP-C':<34}{64.2:>9}{92.8:>9}{'-':>9}")
for name, folds in scores.items():
    within = f"{100 * folds.min(axis=1).mean():.1f} to {100 * folds.max(axis=1).mean():.1f}"
    print(f"{name:<34}{100 * folds.min():>9.1f}{100 * folds.max():>9.1f}{100 * folds.mean():>9.1f}   {within}")

fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
ax.axvspan(64.2, 92.8, color="#E69F00", alpha=0.25, label="the paper's range over ten folds")
rng = np.random.default_rng(0)
for place, folds in enumerate(scores.values()):
    color = "#0072B2" if place in (0, 4) else "0.4"
    jitter = place + rng.uniform(-0.25, 0.25, folds.size)
    ax.plot(
        100 * folds.ravel(), jitter, "o", color=color, markersize=3, alpha=0.4, label="one fold" if place == 1 else None
    )
    ax.plot(100 * folds.mean(), place, "D", color="#D55E00", markersize=8, label="mean" if place == 0 else None)
ax.set_yticks(range(len(scores)), scores)
ax.invert_yaxis()
ax.set(xlabel="accuracy, %", title="Vertebral column: accuracy of every fold, ten shuffles of ten folds")
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# sphinx_gallery_thumbnail_path = "images/thumbnail_vertebral.png"
