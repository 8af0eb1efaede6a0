"""The last step of the search: other categories in exchange for changes, against trying all of them."""

from itertools import chain, combinations

import numpy as np
from loans import loans, model_of_loans
from optional import package_or_skip

import sepc
from sepc.model.membership import squared_radii
from sepc.recourses import improving

pd = package_or_skip("pandas")

OPTIONS = {"purpose": ["car", "house", "trip", "school"], "home": ["own", "rent"]}


def late(n):
    table = loans()[0]
    return [table.iloc[[i]] for i in np.flatnonzero(model_of_loans().predict(table) == "late")[:n]]


def found_for(row):
    return sepc.recourse(model_of_loans(), row, to="paid", min_trust=0.7, fixed=["rate"], n_answers=1)


def exchanged(row, answer):
    """The answer with another category in one column, and with any of the other changes taken back."""
    rows, changed = [], [change.feature for change in answer.changes]
    subsets = list(chain.from_iterable(combinations(changed, n) for n in range(len(changed) + 1)))
    for column, categories in OPTIONS.items():
        for category in categories:
            for subset in subsets:
                one = answer.row.copy()
                one[column] = pd.Categorical([category], row[column].cat.categories) if column == "home" else category
                for name in set(subset) - {column}:
                    one[name] = row[name].to_numpy()
                rows.append(one)
    return pd.concat(rows, ignore_index=True)


def test_no_exchange_of_a_category_is_cheaper():
    n_compared = 0
    for row in late(12):
        found = found_for(row)
        if not found.answers:
            continue
        rows = exchanged(row, found.answers[0])
        decisions = model_of_loans().decide(rows)
        model = decisions.model
        own = np.flatnonzero(model.classes[model.owners] == "paid")
        squared = squared_radii(model.standardize(decisions.rows), model.centers[own], model.roots[own])
        good = (decisions.label == "paid") & (decisions.trust >= 0.7) & (squared <= 1.0).any(axis=1)
        costs = found.proof[0].box.limits.costs(decisions.rows)
        n_compared += int((costs < found.answers[0].cost).sum())
        assert costs[good].min() >= (1.0 - improving.WORTH) / improving.DEARER * found.answers[0].cost
    assert n_compared > 50
