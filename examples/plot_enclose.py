"""
The smallest enclosing ellipse, and the rows that support it
============================================================

Of 400 rows, three decide the ellipse. The covariance ellipse, scaled until it holds all rows as well, is larger: it
follows the bulk of the rows, the smallest one their rim.
"""

import matplotlib.pyplot as plt
import numpy as np

from sepc import enclose
from sepc.geometry import Ellipsoid

rng = np.random.default_rng(7)
bend = rng.normal(size=400)
rows = np.column_stack([bend, 0.4 * bend**2 + 0.35 * rng.normal(size=400)])

found = enclose(rows)
covariance = np.linalg.cholesky(np.cov(rows.T))
bulk = Ellipsoid(rows.mean(axis=0), np.linalg.inv(covariance))
bulk = bulk.expanded(bulk.gauge(rows).max())
times = np.exp(bulk.log_volume - found.ellipsoid.log_volume)

fig, ax = plt.subplots(figsize=(6.4, 5), layout="constrained")
ax.plot(*rows.T, ".", color="0.55", markersize=4, label="400 rows")
ax.plot(*bulk.boundary(200).T, "--", color="#E69F00", label=f"covariance ellipse, {times:.2f} times the area")
ax.plot(*found.ellipsoid.boundary(200).T, color="#0072B2", linewidth=2, label="smallest ellipse")
ax.scatter(*found.support.T, s=600 * found.weights, facecolors="none", edgecolors="#D55E00", linewidths=1.8)
ax.plot([], [], "o", color="#D55E00", markerfacecolor="none", label=f"{len(found.support)} support rows, by weight")
ax.set(xlabel="feature 1", ylabel="feature 2")
ax.set_aspect("equal", adjustable="datalim")
fig.suptitle("The smallest enclosing ellipse, certified")
fig.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
