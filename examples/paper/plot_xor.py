"""
XOR: two crossing segments, without noise
=========================================

Each class has two rows at opposite corners of a square. Two rows are no more than two features, so no round is run, and
no cut could help: by Radon's theorem the segments meet. What is left is enclosed as it is, one terminal ellipse for
each class, and the two have to cross.

An ellipse around two rows has no width, so the paper's solver failed; to draw its figure, the authors added a random
row within 0.01 of (0, 1) and another near (1, 1). Here the ellipse is found inside the segment's own line and is given
a fixed, tiny width (a millionth of the training set's deviation): nothing is random and no row has to be made up.

The added rows change the picture: the smallest ellipse around three rows, two of them close together, reaches a third
of the diagonal beyond those two. They would change the fit as well. With three rows a class the rounds do run, the
means differ, and a cut leaves two rows on each side, too few for an ellipse: the six rows end as isolated points.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import COLORS, LINES, MARKERS

from sepc import SEPClassifier, enclose

X = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
y = np.array([0, 0, 1, 1])
rng = np.random.default_rng(0)
angles, radii = rng.uniform(0, 2 * np.pi, 2), 0.01 * np.sqrt(rng.random(2))
near = np.array([[0.0, 1.0], [1.0, 1.0]]) + radii[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
noisy, noisy_y = np.vstack([X, near]), np.append(y, [1, 0])

exact = SEPClassifier.as_published().fit(X, y)
helped = SEPClassifier.as_published().fit(noisy, noisy_y)
drawn = [enclose(noisy[noisy_y == label]).ellipsoid for label in (0, 1)]

print(f"{'':<26}{'paper':>16}{'ours':>18}")
print(f"{'crossing ellipses':<26}{2:>16}{len(exact.ellipsoids_):>18}")
print(f"{'rows made up':<26}{2:>16}{0:>18}")
widths = [
    ", ".join(f"{one.semi_axes[1]:.0e}" for one in ones) for ones in (drawn, [e.ellipsoid for e in exact.ellipsoids_])
]
print(f"{'half-widths':<26}{widths[0]:>16}{widths[1]:>18}   (the paper's: our draw of its added rows)")
print(f"{'corners labelled right':<26}{'4 (implied)':>16}{np.sum(exact.predict(X) == y):>18}")
print(f"ended because {exact.history_[0].stopped_because}")
centre = exact.decide([[0.5, 0.5]])
print(f"The crossing itself holds no training row; it gets label {centre.label[0]} with trust {centre.trust[0]:.2f}.")
print(f"Fitted with the added rows: {len(helped.ellipsoids_)} ellipses, {len(helped.model_.isolated)} isolated points.")

panels = {
    "The four rows alone": (X, y, [one.ellipsoid for one in exact.ellipsoids_]),
    "With the paper's two added rows": (noisy, noisy_y, drawn),
}
fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.6), sharex=True, sharey=True, layout="constrained")
for ax, (title, (rows, labels, ellipses)) in zip(axes, panels.items(), strict=True):
    for label, one in enumerate(ellipses):
        # Far too thin for an outline, so the long axis stands for the ellipse.
        ends = one.center + np.outer([-1, 1], one.semi_axes[0] * one.axes[0])
        ax.plot(*ends.T, LINES[label], color=COLORS[label], label=f"ellipse of class {label}")
        style = {"color": COLORS[label], "markersize": 9, "markerfacecolor": "none"}
        ax.plot(*rows[labels == label].T, MARKERS[label], **style, label=f"rows of class {label}")
    ax.set(title=title, xlabel="input 1", ylabel="input 2", aspect="equal")
    ax.label_outer()
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
plt.show()
