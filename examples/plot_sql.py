"""
Decisions inside a database
===========================

The model is written as one SELECT statement, and SQLite decides on the rows of a table by itself, without Python or any
extension. The picture shows what a query on top of it finds: how many rows of each label are accepted, and why
the others are not.
"""

import sqlite3

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import sepc.sql
from sepc import SEPClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = X[["mean texture", "worst area", "worst concavity", "worst smoothness"]]
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# The statement holds everything: how columns are standardised, the ellipsoids, the weights and the thresholds.

classifier = SEPClassifier().fit(X_train, y_train)
statement = sepc.sql.export(classifier, "sqlite", "tumours")
print(f"{len(statement):,} characters, which begin with")
print(statement[:160])

# %%
# The database has the table; some cells in it are empty.

tumours = X_test.assign(patient=range(len(X_test)))
tumours.iloc[::40, 0] = None
database = sqlite3.connect(":memory:")
tumours.to_sql("tumours", database, index=False)
database.execute(f"CREATE VIEW decided AS {statement}")
print(pd.read_sql("SELECT patient, sepc_label, sepc_trust, sepc_accepted, sepc_cause FROM decided LIMIT 5", database))

# %%
# Where nothing is missing, the decisions are those of Python.

said = pd.read_sql("SELECT * FROM decided ORDER BY patient", database)
complete = tumours.notna().all(axis=1).to_numpy()
decisions = classifier.decide(X_test)
print("same labels:", (said["sepc_label"][complete].to_numpy() == decisions.label[complete]).all())
print("same causes:", (said["sepc_cause"] == decisions.to_frame()["cause"].to_numpy())[complete].all())

# %%
# One query counts them, wherever the rows are.

counts = pd.read_sql(
    "SELECT coalesce(sepc_label, 'no label') AS label, sepc_cause AS cause, count(*) AS n FROM decided GROUP BY 1, 2",
    database,
)
database.close()
wide = counts.pivot(index="label", columns="cause", values="n").fillna(0)
ax = wide.plot.barh(stacked=True, figsize=(7, 3), color=["#4c9f70", "#d4a017", "#8a8a8a", "#b5485d", "#5b7db1"])
ax.set(xlabel="rows", ylabel="", title="Decided by SQLite")
ax.legend(title="", ncols=5, loc="upper center", bbox_to_anchor=(0.5, -0.2), frameon=False)
plt.tight_layout()
plt.show()
