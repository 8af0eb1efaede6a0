"""
What would have to change
=========================

``sepc.recourse`` looks for a counterfactual, a change of a row that the model accepts with another label, and proves a
lower bound on the cost of getting near cases of that label. Here a tumour is called malignant: what would a benign one
like it look like?
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

import sepc
from sepc.plot import RecourseDisplay

cancer = load_breast_cancer(as_frame=True)
names = ["mean radius", "mean texture", "mean smoothness", "mean concavity", "mean symmetry", "area error"]
X, y = cancer.data[names], cancer.target_names[cancer.target]
clf = sepc.SEPClassifier().fit(X[::2], y[::2])

rows = X[1::2]
decisions = clf.decide(rows)
row = rows[(decisions.label == "malignant") & decisions.accepted].iloc[[3]]
print(clf.decide(row)[0].why())

# %%
# The cheapest answer, with and without texture
# ---------------------------------------------
#
# Both are accepted; in the second, the texture must stay. The grey bars hold the middle 80 % of the benign training
# cases.

found = sepc.recourse(clf, row, to="benign")
same_texture = sepc.recourse(clf, row, to="benign", fixed=["mean texture"])
fig, axes = plt.subplots(2, 1, figsize=(8.4, 6.4), layout="constrained")
for own, ax in zip((found, same_texture), axes, strict=True):
    RecourseDisplay.from_recourse(own, ax=ax)
plt.show()

# %%
print(found.why())

# %%
# Limits, and what they cost
# --------------------------
#
# Fixing features makes the rest costlier. With the size of the nucleus fixed as well, no answer was found: the bound
# proves that to be like the benign cases in training would take changes of more than three deviations.

for fixed in ([], ["mean texture"], ["mean radius", "mean texture"]):
    found = sepc.recourse(clf, row, to="benign", fixed=fixed)
    cost = f"{found.answers[0].cost:.2f}" if found.answers else "none"
    print(f"fixed: {', '.join(fixed) or 'nothing'}; bound {found.bound:.2f}, answer {cost}")

# %%
print(found.why())
