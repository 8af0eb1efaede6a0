"""
The life of a model
===================

A model is fitted and put to work. People can look at 60 cases a day; their labels certify that at most 2 % of the rows
it accepts are wrong. On day 10 one corner of the data changes. A monitor raises an alarm and names the region. The
certificate is withdrawn; people look at rows of that region and at some others; the model is repaired where it fails
and nowhere else; and new labels certify it again.
"""

import matplotlib.pyplot as plt
import numpy as np

from sepc import Cause, SEPClassifier
from sepc.lifecycle import Monitor, ReviewQueue, audit, repair

DRIFT, N_DAYS, N_A_DAY, N_LOOKED_AT, N_REPAIR_DAYS = 10, 26, 1000, 60, 5
rng = np.random.default_rng(3)
centers = np.array([[0.0, 0.0], [3.2, 0.0], [0.0, 3.2], [3.2, 3.2]])


def rows_of(day, n=N_A_DAY):
    """Four clouds, two of either class; from the day of the drift, the upper right one belongs to the other class."""
    cloud = rng.integers(4, size=n)
    other = np.isin(cloud, [1, 2]) | ((day >= DRIFT) & (cloud == 3))
    return centers[cloud] + 0.75 * rng.normal(size=(n, 2)), np.where(other, "orange", "blue")


# %%
# Fit, set reference rows aside for the monitor, and start a review queue.

first = SEPClassifier().fit(*rows_of(0, 2000))
monitor = Monitor(first, *rows_of(0, 3000))
queue = ReviewQueue(first, N_LOOKED_AT, coverage=0.8, rows=rows_of(0, 3000)[0], random_state=0)

# %%
# Every day new rows arrive. Queue and monitor learn from those that people look at.

accepted, wrong = np.zeros(N_DAYS), np.full(N_DAYS, np.nan)


def work(day, X, y, model, threshold):
    """Accept rows at or above the threshold, and record the results."""
    decided = model.decide(X)
    taken = decided.trust >= threshold
    accepted[day] = taken.mean()
    wrong[day] = (decided.label != y)[taken].mean() if taken.any() else np.nan


alarms, day = [], -1
while not alarms:
    day += 1
    X, y = rows_of(day)
    work(day, X, y, first, queue.certificate().threshold)
    review = queue.choose(X)
    queue.learn(review, y[review.positions])
    alarms = [*monitor.update(X), *monitor.update_labels(X[review.positions], y[review.positions])]
alarm_day = day
print(f"Day {day}. {queue.certificate()}\nDay {day}. {alarms[0]}")

# %%
# The data are no longer what was certified, so nothing is accepted for now. For five days people look at rows of the
# regions that moved, and at rows drawn at random from all others: where else does the model fail?

feedback = []
for day in range(alarm_day + 1, alarm_day + 1 + N_REPAIR_DAYS):
    X, y = rows_of(day)
    work(day, X, y, first, np.inf)
    drifted = monitor.decide(X).cause == Cause.DRIFTED
    halves = [rng.permutation(np.flatnonzero(part))[: N_LOOKED_AT // 2] for part in (drifted, ~drifted)]
    looked_at = np.concatenate(halves)
    feedback.append((X[looked_at], y[looked_at]))
X_back, y_back = (np.concatenate(part) for part in zip(*feedback, strict=True))
found = audit(first, X_back, y_back)
repaired = repair(first, X_back, y_back, audit=found)
repair_day = day
print(found)
print(repaired.summary())

# %%
# A new queue certifies the repaired model.

queue = ReviewQueue(repaired, N_LOOKED_AT, coverage=0.8, rows=rows_of(day, 3000)[0], random_state=0)
for day in range(repair_day + 1, N_DAYS):
    X, y = rows_of(day)
    work(day, X, y, repaired, queue.certificate().threshold)
    review = queue.choose(X)
    queue.learn(review, y[review.positions])
print(f"Day {day}. {queue.certificate()}")

# %%
# The decisions before and after, and a record of the 26 days.

COLOURS = {"blue": "#0072B2", "orange": "#E69F00"}
MARKS = {"blue": "o", "orange": "^"}
fig = plt.figure(figsize=(9, 7.4), layout="constrained")
above, below = fig.subfigures(2, 1, height_ratios=(1.35, 1))
X, y = rows_of(DRIFT, 1500)
before = rows_of(0, 1500)
shown = (
    (first, *before, "before the drift"),
    (first, X, y, "after the drift"),
    (repaired, X, y, "repaired"),
)
for ax, (model, rows, truth, title) in zip(above.subplots(1, 3, sharey=True), shown, strict=True):
    label = model.predict(rows)
    for name in COLOURS:
        ax.plot(*rows[label == name].T, MARKS[name], color=COLOURS[name], markersize=2.5, label=f"labelled {name}")
    ax.plot(*rows[label != truth].T, "x", color="black", markersize=4, markeredgewidth=0.6, label="wrong")
    ax.set_title(f"{title}: {(label != truth).mean():.1%} wrong", fontsize="medium")
    ax.set(xlabel="feature 1", xlim=(-2.2, 5.4), ylim=(-2.2, 5.4), box_aspect=1)
above.axes[0].set_ylabel("feature 2")
above.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, markerscale=2)

top, bottom = below.subplots(2, 1, sharex=True)
top.step(range(N_DAYS), 100 * accepted, where="mid", color=COLOURS["blue"])
top.set(ylabel="accepted, %", ylim=(-5, 105))
bottom.plot(range(N_DAYS), 100 * wrong, "o-", color="black", markersize=3.5)
bottom.axhline(2.0, color="#D55E00", linestyle="--", label="promised: at most 2 %")
bottom.set(ylabel="wrong among accepted, %", xlabel="day", ylim=(0, 1.15 * 100 * np.nanmax(wrong)))
bottom.legend(loc="upper left", frameon=False)
for ax in (top, bottom):
    for when, style in ((DRIFT, "-"), (alarm_day, ":"), (repair_day, "-.")):
        ax.axvline(when, color="0.4", linestyle=style, linewidth=1)
top.annotate("drift, and alarm", (alarm_day + 0.5, 50), xytext=(4, 0), textcoords="offset points", color="0.25")
top.annotate("repair", (repair_day, 50), xytext=(4, 0), textcoords="offset points", color="0.25")
plt.show()
