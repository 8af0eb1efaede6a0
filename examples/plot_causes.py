"""
Why rows are not accepted: a map of causes
==========================================

The classifier gives a cause whenever it abstains. Here two classes are apart on the left and overlap on the right; a
few bad rows lie by themselves at the top; and nothing was seen far away. Each cause calls for something else: another
feature or a person for ``OVERLAP``, more rows for ``THIN``, a second look at the row itself for ``UNSEEN``.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap

from sepc import Cause, SEPClassifier

rng = np.random.default_rng(3)
apart = rng.normal([-1.0, 1.2], 0.5, (150, 2)), rng.normal([-1.0, -1.2], 0.5, (150, 2))
mixed = rng.normal([1.8, 0.0], 0.45, (120, 2))
thin = rng.normal([-1.0, 4.0], 0.25, (6, 2))
X = np.vstack([*apart, mixed, thin])
y = np.repeat(["good", "bad", "good", "bad", "bad"], [150, 150, 60, 60, 6])

classifier = SEPClassifier(min_trust=0.95).fit(X, y)
edge = (-4.5, 4.5), (-4.0, 5.5)
across, up = np.meshgrid(np.linspace(*edge[0], 320), np.linspace(*edge[1], 256))
decisions = classifier.decide(np.column_stack([across.ravel(), up.ravel()]))

# %%
# The map
# -------
# White is accepted; every point has its own decision. Trust fades slowly outside a large group of rows, so points some
# way off are still accepted.

fig, ax = plt.subplots(figsize=(8, 5.6), layout="constrained")
tones = {Cause.ACCEPTED: "white", Cause.OVERLAP: "#E8A87C", Cause.UNSEEN: "#C9CED6", Cause.THIN: "#F5E08A"}
causes = decisions.cause.reshape(across.shape)
ax.pcolormesh(across, up, causes, cmap=ListedColormap(list(tones.values())), vmin=-0.5, vmax=3.5)
for label, color, marker in (("good", "#0072B2", "o"), ("bad", "#A23B00", "x")):
    ax.plot(*X[y == label].T, marker, color=color, markersize=4, markerfacecolor="none", label=label)
for cause, place in ((Cause.OVERLAP, (2.0, -1.5)), (Cause.UNSEEN, (3.3, 4.3)), (Cause.THIN, (-1.0, 4.6))):
    ax.annotate(cause.name, place, ha="center", fontsize=11, weight="bold")
ax.set(xlabel="feature 1", ylabel="feature 2", title="Accepted (white), and three causes of abstaining")
fig.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()

# %%
# In words
# --------

for row in ([1.8, 0.0], [-1.0, 4.0], [3.3, 4.0]):
    print(f"{row}: {classifier.decide([row])[0].why()}\n")
