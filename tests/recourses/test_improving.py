"""The last step of the search exchanges some changes for others: against trying every such exchange."""

from functools import cache
from itertools import chain, combinations, product

import numpy as np
from loans import limits_of
from optional import package_or_skip

import sepc
from sepc.model.membership import squared_radii
from sepc.recourses import finding as improving
from sepc.recourses.finding import Judgements, Target

pd = package_or_skip("pandas")

LETTERS, NUMBERS = list("pqrst"), ["amount", "months"]


@cache
def cases():
    """Two numbers, and five columns of categories that count more or less."""
    rng = np.random.default_rng(2)
    n = 400
    table = pd.DataFrame({"amount": rng.gamma(3.0, 1.5, n), "months": rng.integers(6, 60, n)})
    score = 0.5 * table["amount"] + table["months"] / 15
    for i in range(5):
        codes = rng.integers(0, 5, n)
        table[f"c{i}"] = np.array(LETTERS, dtype=object)[codes]
        score += (0.3 + 0.2 * i) * rng.permutation(5)[codes] / 2
    labels = np.where(score + 0.3 * rng.standard_normal(n) > score.median(), "late", "paid")
    return table, sepc.SEPClassifier(min_trust=0.8).fit(table, labels)


def target_of(row):
    model = cases()[1]
    limits, owner = limits_of(model, row), model.classes_.tolist().index("paid")

    def judge(rows):
        """Decide on rows of the table, as anybody would."""
        names, known = model.model_.feature_names, model.preparation_.categories
        table = pd.DataFrame({name: rows[:, names.index(name)] for name in NUMBERS})
        for j, (name, categories) in enumerate(known.items()):
            codes = rows[:, limits.n_features + j].astype(int)
            table[name] = np.array(categories.values, dtype=object)[codes]
        decisions = model.decide(table)
        inner, is_it = decisions.model, decisions.accepted & (decisions.label == "paid")
        inside = squared_radii(inner.place(decisions.rows), inner.centers, inner.roots) <= 1.0 + inner.slack
        return Judgements.of(decisions.probabilities[:, owner], is_it, inside)

    return Target(limits, owner, np.flatnonzero(limits.model.owners == owner), judge)


def exchanged(limits, row):
    """A row with any category in one column, and with any of the other changes taken back."""
    columns = [limits.n_features + choice.column for choice in limits.choices]
    changed = np.flatnonzero(row != limits.row)
    changed = changed[(changed >= limits.n_features) | np.isin(changed, limits.free)]
    kept = list(chain.from_iterable(combinations(changed.tolist(), n) for n in range(len(changed) + 1)))
    rows = np.tile(limits.row, (len(columns) * len(LETTERS) * len(kept), 1))
    for one, (column, code, names) in zip(rows, product(columns, range(len(LETTERS)), kept), strict=True):
        one[list(names)] = row[list(names)]
        one[column] = code
    return limits.encode_categories(rows)


def cheapest_exchanges(n=8):
    """For rows of training, made cheaper as answers to others: the cheapest exchange, as a share of the cost."""
    table, model = cases()
    decisions = model.decide(table)
    late = np.flatnonzero(decisions.label == "late")[:n].tolist()
    shares = []
    for asked, i in zip(late, np.flatnonzero(decisions.accepted & (decisions.label == "paid")), strict=False):
        target = target_of(table.iloc[[asked]])
        better = improving.improve(target, decisions.rows[i])
        assert target.candidates(better[np.newaxis]).is_it.all()
        tried = target.candidates(exchanged(target.limits, better))
        shares.append(tried.costs[tried.is_it].min() / target.limits.costs(better[np.newaxis])[0])
    return np.array(shares)


def test_no_exchange_makes_an_answer_cheaper(monkeypatch):
    assert cheapest_exchanges().min() >= (1.0 - improving.WORTH) / improving.DEARER
    # Without the last step some would, else this would show nothing.
    monkeypatch.setattr(improving, "MOST_EXCHANGES", 0)
    assert cheapest_exchanges().min() < 0.95
