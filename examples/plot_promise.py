"""
Is a promised error rate kept?
==============================

``SelectiveClassifier`` chooses a trust threshold on rows that the model has not seen, so that the selective risk, the
error rate among accepted rows, is at most ``max_risk`` with the stated confidence. A promise is judged by how often it
is broken: here it is made 200 times, each time with different calibration rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sepc import SelectiveClassifier

X, y = make_moons(60_000, noise=0.35, random_state=0)
model = LogisticRegression().fit(X[:1000], y[:1000])
X_all, y_all = X[20_000:], y[20_000:]  # for the true error rate
print(f"the model alone is wrong on {100 * np.mean(model.predict(X_all) != y_all):.1f} % of the rows")

# %%
# One promise, in words

selective = SelectiveClassifier(FrozenEstimator(model), max_risk=0.05).fit(X[1000:3000], y[1000:3000])
print(selective.summary())

# %%
# Two hundred promises
# --------------------
# Each dot is one draw of 2,000 calibration rows: how much is accepted, and how much of that is really wrong. With a
# confidence of 95 %, at most one dot in twenty may lie above its line. Dots overlap, because there are few
# thresholds; those at zero accept nothing, because too few rows are trusted enough to prove 2 %.

rng = np.random.default_rng(0)
wrong, trust = model.predict(X_all) != y_all, model.predict_proba(X_all).max(axis=1)
fig, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
for max_risk, color, marker in ((0.02, "#0072B2", "o"), (0.05, "#E69F00", "s"), (0.10, "#009E73", "^")):
    coverages, risks = [], []
    for _ in range(200):
        drawn = rng.choice(np.arange(1000, 20_000), 2000, replace=False)
        promise = SelectiveClassifier(FrozenEstimator(model), max_risk=max_risk).fit(X[drawn], y[drawn])
        accepted = trust >= promise.threshold_
        coverages.append(accepted.mean())
        risks.append(wrong[accepted].mean() if accepted.any() else 0.0)
    broken = np.mean(np.array(risks) > max_risk)
    print(f"at most {max_risk:.0%} wrong: {broken:.1%} broken, {np.mean(coverages):.1%} of rows accepted on average")
    ax.axhline(100 * max_risk, color=color, linewidth=1)
    style = {"color": color, "markerfacecolor": "none", "markersize": 5, "alpha": 0.7}
    ax.plot(100 * np.array(coverages), 100 * np.array(risks), marker, **style, label=f"at most {max_risk:.0%} wrong")
ax.set(xlabel="accepted, % of all rows", ylabel="really wrong among accepted, %", ylim=(0, 11))
ax.set_title("200 promises of each kind, and their lines")
fig.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
