"""
A data set before any model
===========================

How well can the classes of a table be separated at all? ``Landscape`` answers before anything is tuned: an ellipsoid
for each class, how many rows lie in two of them, and the share of rows in regions with several labels. Here are one
data set whose classes are nearly separate, and one in which one class lies inside the other.
"""

import textwrap

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris, make_circles

from sepc import Landscape
from sepc.plot import LandscapeDisplay

X, y = load_iris(return_X_y=True, as_frame=True)
iris = Landscape(X, y.map(dict(enumerate(load_iris().target_names))))
print(textwrap.fill(str(iris), 100))
LandscapeDisplay.from_landscape(iris)
plt.show()

# %%
# One class inside another
# ------------------------
# All rows of the inner class lie in the ellipsoid of the outer one, and a partition still separates them: the
# ellipsoids of classes may overlap although the classes do not.

X, y = make_circles(400, noise=0.06, factor=0.5, random_state=0)
circles = Landscape(X, np.where(y == 0, "ring", "disc"))
print(textwrap.fill(str(circles), 100))
LandscapeDisplay.from_landscape(circles)
plt.show()

# %%
# As data

summary = iris.figures
for overlap in summary.overlaps:
    first, second = summary.classes[overlap.first], summary.classes[overlap.second]
    print(f"{first}, {second}: {overlap.n_first} and {overlap.n_second} rows lie in both; disjoint: {overlap.disjoint}")
