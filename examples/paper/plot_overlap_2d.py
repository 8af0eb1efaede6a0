"""
Two overlapping clouds, before and after partitioning
=====================================================

The paper opens with a picture of two clouds in the plane: the smallest ellipse around each class, the ellipse of their
overlap, and the pieces that SEP-C cuts out with ``n_impure=10``. It does not publish the rows, so these are ours, and
what can be compared is the story: pieces of the left class are found from left to right, those of the right class from
right to left, and meet in the overlap. Ours do so until they are there; where the classes are mixed, later pieces lie
on either side of earlier ones.

The paper's first overlap ellipse came out as a ball, larger than the overlap. It then recommends the smallest ellipse
around the rows that lie in both classes' ellipses, and that is the one drawn here.
"""

import matplotlib.pyplot as plt
import numpy as np
from drawing import COLORS, LINES, draw_ellipses, draw_rows

from sepc import SEPClassifier, enclose
from sepc.geometry import overlap_ratio

rng = np.random.default_rng(0)
left = rng.multivariate_normal([-1.5, 0.0], [[1.0, 0.3], [0.3, 0.7]], 250)
right = rng.multivariate_normal([1.5, 0.4], [[1.0, -0.3], [-0.3, 0.7]], 200)
X, y = np.vstack([left, right]), np.repeat([0, 1], [250, 200])

ellipses = [enclose(X[y == label]).ellipsoid for label in (0, 1)]
in_both = np.all([one.contains(X) for one in ellipses], axis=0)
overlap = enclose(X[in_both]).ellipsoid
published = SEPClassifier.as_published(n_impure=10).fit(X, y)

print(f"rows in both class ellipses: {in_both.sum()} of {len(X)}")
for label, one in enumerate(ellipses):
    outside = np.sum(~in_both[y == label])
    print(f"class {label}: overlap ratio {overlap_ratio(overlap, one):.2f}, {outside} rows outside the overlap")
print("The paper prints no ratio for this data set, and its rows are not published.\n")

print("where the pieces lie, in the order found (feature 1 of the centre)")
for label, expected in ((0, "left to right"), (1, "right to left")):
    centres = [one.ellipsoid.center[0] for one in published.ellipsoids_ if one.label == label and not one.is_terminal]
    told = np.diff(centres) > 0 if label == 0 else np.diff(centres) < 0
    n_first = len(told) if told.all() else int(np.argmin(told))
    print(f"class {label}: {np.round(centres, 1).tolist()}")
    print(f"         paper: {expected}; ours: so for the first {n_first + 1} of {len(centres)}")
print(f"The sequence ended because {published.history_[0].stopped_because}.")
default = SEPClassifier(n_impure=10).fit(X, y)
print(f"As published there are {len(published.ellipsoids_)} ellipses, by default {len(default.ellipsoids_)}.")

fig, (before, after) = plt.subplots(1, 2, figsize=(10, 5), sharex=True, sharey=True, layout="constrained")
draw_rows(before, X, y)
for one, color, line in zip(ellipses, COLORS, LINES, strict=False):
    before.plot(*one.boundary(200).T, line, color=color, linewidth=1.8)
before.fill(*overlap.boundary(200).T, facecolor="#009E7333", edgecolor="#009E73", hatch="//", label="rows in both")
before.set_title("The class ellipses and the ellipse of the rows in both")
draw_rows(after, X, y)
draw_ellipses(after, published)
after.set_title("The partition, numbered in the order found")
after.label_outer()
handles, names = before.get_legend_handles_labels()
fig.legend(handles, names, loc="outside lower center", ncols=3, frameon=False)
plt.show()
